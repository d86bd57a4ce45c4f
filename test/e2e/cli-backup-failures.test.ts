import { mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import type { CuttingProxy } from '../support/cutting-proxy.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { execute, openCommandLine } from './cli-harness.ts';
import type { CommandLine } from './cli-harness.ts';
import { sharedFolder } from '../support/shared-folder.ts';

let cli: CommandLine;
let database: TestDatabase;
let proxy: CuttingProxy;
const folder = sharedFolder();
const backup = join(folder, 'backup');

beforeAll(async () => {
  database = await createTestDatabase();
  const { hostname, port } = new URL(database.url);
  proxy = await startCuttingProxy({ host: hostname, port: Number(port) });
  cli = await openCommandLine({ GATEHOUSE_DATABASE_URL: database.url });
  await cli.json('backup', '--output', backup);
});

afterAll(async () => {
  await proxy.close();
  await database.drop();
  await cli.stop();
});

const changed = (url: string, change: (url: URL) => void): string => {
  const copy = new URL(url);
  change(copy);
  return copy.href;
};

const throughProxy = (url: string): string =>
  changed(url, (copy) => {
    copy.port = String(proxy.port);
  });

test.each<[string, (url: URL) => void, number, string, string]>([
  [
    'a wrong password',
    (url) => (url.password = 'wrong'),
    4,
    'password authentication failed',
    'Check the user and',
  ],
  [
    'a missing database',
    (url) => (url.pathname = '/none'),
    4,
    '"none" does not exist',
    'Check the name of the',
  ],
  ['a wrong port', (url) => (url.port = '1'), 5, 'ECONNREFUSED', 'Check the address of the database'],
  [
    'an unknown host',
    (url) => (url.hostname = 'none.invalid'),
    5,
    'none.invalid',
    'Check the address of the',
  ],
  [
    'a port after the question mark',
    (url) => (url.search = '?port=1'),
    2,
    '--database-url has port after the question mark, where it has no effect',
    'Write it as postgres://',
  ],
])('%s is explained by backup and restore', async (_what, change, exitCode, why, advice) => {
  const url = changed(database.url, change);
  const output = await mkdtemp(join(folder, 'output-'));

  const written = await cli.run('backup', '--output', output, '--database-url', url);
  const restored = await cli.run('restore', '--from', backup, '--database-url', url);

  for (const { stderr, ...outcome } of [written, restored]) {
    expect(outcome).toEqual({ exitCode, stdout: '' });
    expect(stderr).toContain(why);
    expect(stderr).toContain(advice);
    expect(stderr).not.toContain(new URL(url).password || 'no password');
  }
});

test('a connection that is lost during a backup says to delete the folder', async () => {
  const output = join(folder, 'cut');
  proxy.cutAt('copy (select');

  const written = await cli.run('backup', '--output', output, '--database-url', throughProxy(database.url));

  proxy.cutAt(undefined);
  expect(written).toMatchObject({ exitCode: 5, stdout: '' });
  expect(written.stderr).toContain('the backup could not be written: ');
  expect(written.stderr).toContain(`Delete ${output}, and write the backup again.`);
  expect(await readdir(output)).not.toContain('manifest.json');
});

test('a connection that is lost during a restore says to drop the database, and then a restore succeeds', async () => {
  const target = await createTestDatabase({ migrated: false });
  const again = await createTestDatabase({ migrated: false });
  try {
    proxy.cutAt('from stdin');
    const restored = await cli.run('restore', '--from', backup, '--database-url', throughProxy(target.url));
    proxy.cutAt(undefined);

    expect(restored).toMatchObject({ exitCode: 5, stdout: '' });
    expect(restored.stderr).toContain('the backup could not be restored: ');
    expect(restored.stderr).toContain('Drop the database');
    const repeated = await cli.run('restore', '--from', backup, '--database-url', target.url);
    expect(repeated.stderr).toContain('already has the schema core\nCreate an empty database');
    expect(await cli.run('restore', '--from', backup, '--database-url', again.url)).toMatchObject({
      exitCode: 0,
    });
  } finally {
    await target.drop();
    await again.drop();
  }
});

test('a disk without space says to free it', async () => {
  const output = join(folder, 'full');
  // A limit on the size of files stands for a full disk, which only root can create.
  const limited = ['-c', 'ulimit -f 1; exec "$0" src/main/cli.ts "$@"', process.execPath];

  const written = await execute('sh', [...limited, 'backup', '--output', output], {
    PATH: process.env['PATH'],
    GATEHOUSE_DATABASE_URL: database.url,
    GATEHOUSE_DATA_DIR: folder,
  });

  expect(written).toMatchObject({ exitCode: 4, stdout: '' });
  expect(written.stderr).toContain('the backup could not be written: EFBIG');
  expect(written.stderr).toContain('Free space on that disk');
  expect(written.stderr).toContain(`Delete ${output}`);
});

test('a file in place of the folder says to name a folder', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');

  for (const output of [file, join(file, 'within')]) {
    const written = await cli.run('backup', '--output', output);
    expect(written).toMatchObject({ exitCode: 4, stdout: '' });
    expect(written.stderr).toContain('Name a folder, not a file.');
  }
});
