import { mountSmallDisk } from '../../src/main/prove/small-disk.ts';
import { storeAnswers } from '../../src/platform/nats/store-answers.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'nats';
import { Client } from 'pg';
import { choosePorts } from '../../src/main/local/free-port.ts';
import { findOrInstallNatsServer } from '../../src/main/local/nats-binary.ts';
import { natsProcess, natsUrl } from '../../src/main/local/nats.ts';
import { exitWithParent } from '../../src/main/local/exit-with-parent.ts';
import { endLeftovers } from '../../src/main/local/leftovers.ts';
import { beginLog } from '../../src/main/local/log-file.ts';
import {
  findPostgresHome,
  installedPostgres,
  rememberPostgresHome,
} from '../../src/main/local/postgres-home.ts';
import { databaseUrl, postgresProcess } from '../../src/main/local/postgres.ts';
import { supervise } from '../../src/main/local/supervisor.ts';
import type { SupervisedProcess } from '../../src/main/local/supervisor.ts';
import { startTemporaryNats, startTemporaryPostgres } from '../../src/main/local/temporary-servers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { isRunning } from '../unit/local/processes.ts';
import { temporaryFolders } from '../unit/local/temporary-folder.ts';

const password = 'only-for-the-length-of-a-test';
const isRoot = process.getuid?.() === 0;

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function homeIn(dataFolder: string, shared = join(dataFolder, 'shared')) {
  return findPostgresHome({ dataFolder, native: installedPostgres(), shared, report: () => undefined });
}

async function startPostgres(
  dataFolder: string,
  home: Awaited<ReturnType<typeof homeIn>>,
  warn: (line: string) => void = () => undefined,
) {
  const [port = 0] = await choosePorts([{ setting: 'any', host: '127.0.0.1', port: 0 }]);
  const spec = postgresProcess({ home, port, password, marker: {}, durable: true });
  const log = await beginLog(join(dataFolder, 'postgres.log'));
  const signal = new AbortController().signal;
  const server = await supervise(spec, { log, signal, warn });
  return { server, url: databaseUrl({ port, password }) };
}

describe('the embedded PostgreSQL', () => {
  let folder: string;
  let home: Awaited<ReturnType<typeof homeIn>>;
  let server: SupervisedProcess;
  let url: string;
  const warnings: string[] = [];
  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'gatehouse-test-')));
    home = await homeIn(folder);
    // As after an interrupted first start.
    await mkdir(`${home.data}.draft`);
    await writeFile(join(`${home.data}.draft`, 'PG_VERSION'), '18\n');
    ({ server, url } = await startPostgres(folder, home, (line) => warnings.push(line)));
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  test('repeats an interrupted first start, is durable, orders text the same on every machine, needs its password, and does not run as root', async () => {
    const settings = `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
      current_setting('full_page_writes') AS pages, current_setting('data_checksums') AS checksums,
      current_setting('server_version_num')::int / 10000 AS version, encoding, datlocprovider AS provider, datlocale
      FROM (SELECT pg_encoding_to_char(encoding) AS encoding, datlocprovider, datlocale
            FROM pg_database WHERE datname = current_database()) AS database`;
    expect(await query(url, settings)).toEqual([
      {
        ...{ fsync: 'on', commit: 'on', pages: 'on', checksums: 'on', version: 18 },
        ...{ encoding: 'UTF8', provider: 'b', datlocale: 'C.UTF-8' },
      },
    ]);
    await expect(query(url.replace(password, 'guessed'), 'SELECT 1')).rejects.toThrow(
      'password authentication failed',
    );
    expect(home.data).toBe(join(folder, 'postgres'));
    expect(existsSync(`${home.data}.draft`)).toBe(false);
    if (isRoot) expect((await stat(home.data)).uid).not.toBe(0);
  });

  test('logs the error of a failed statement without its values', async () => {
    await query(url, 'CREATE TABLE payers (phone text PRIMARY KEY CHECK (phone <> $$+251911234568$$))');
    await query(url, 'INSERT INTO payers VALUES ($$+251911234567$$)');
    for (const phone of ['+251911234567', '+251911234568'])
      await expect(query(url, `INSERT INTO payers VALUES ('${phone}')`)).rejects.toThrow('violates');
    const log = (): Promise<string> => readFile(join(folder, 'postgres.log'), 'utf8');
    await waitUntil('both errors are logged', async () => (await log()).includes('check constraint'));
    expect(await log()).toContain('duplicate key value violates unique constraint "payers_pkey"');
    expect(await log()).not.toContain('+2519');
  });

  test('starts again with its data after a crash, even when its old process id now belongs to another', async () => {
    await query(url, 'CREATE TABLE kept (id int)');
    const pid = server.pid() ?? 0;
    const other = spawn('sleep', ['60'], home.user ?? {});
    // The supervisor restarts it although the pid file names a process of the same user that is not PostgreSQL.
    process.kill(pid, 'SIGSTOP');
    await writeFile(
      join(home.data, 'postmaster.pid'),
      (await readFile(join(home.data, 'postmaster.pid'), 'utf8')).replace(String(pid), String(other.pid)),
    );
    process.kill(pid, 'SIGKILL');
    await waitUntil('it is running again, as another process', async () => {
      const answers = await query(url, 'SELECT * FROM kept').then(Array.isArray, () => false);
      return answers && server.pid() !== pid;
    });
    await waitUntil('it says so', () => warnings.includes('postgres is running again'));
    expect(await isRunning(other.pid ?? 0)).toBe(true);
    other.kill();
    await once(other, 'exit');
  });

  test('after its data folder disappeared creates no empty database, and continues when the folder is back', async () => {
    await query(url, 'CREATE TABLE still_kept (id int)');
    const before = warnings.length;
    const told = () => warnings.slice(before);
    await rename(home.data, `${home.data}.elsewhere`);
    process.kill(server.pid() ?? 0, 'SIGKILL');
    await waitUntil('it says what is missing', () => told().some((line) => line.includes('is gone')));

    expect(existsSync(home.data)).toBe(false);
    expect(told().at(-1)).toContain(`its data folder ${home.data} is gone. Put it back`);
    expect(told().at(-1)).toContain('restore a backup: docs/operating/backup.md');
    expect(told()).not.toContain('postgres is running again');

    await rename(`${home.data}.elsewhere`, home.data);
    await waitUntil('it runs again', () => told().includes('postgres is running again'));
    expect(await query(url, 'SELECT * FROM still_kept')).toEqual([]);
  });

  test('does not run from a folder whose path a shell would change', async () => {
    const native = join(folder, 'US$', 'native');
    await expect(
      findPostgresHome({ dataFolder: folder, native, shared: folder, report: () => undefined }),
    ).rejects.toThrow(`PostgreSQL cannot run from ${native}`);
  });

  test('that a killed start left running is shut down cleanly by the next start', async () => {
    await server.stop();
    const [port] = await choosePorts([{ setting: 'any', host: '127.0.0.1', port: 0 }]);
    const args = ['-D', home.data, '-p', String(port), '-c', 'unix_socket_directories='];
    const left = spawn(join(home.programs, 'bin', 'postgres'), args, {
      ...home.user,
      cwd: '/',
      env: {},
      stdio: 'pipe',
    });
    let log = '';
    left.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
    await waitUntil('it is ready', () => log.includes('ready to accept connections'));
    const exited = once(left, 'exit');
    const reports: string[] = [];
    await endLeftovers({
      dataFolder: folder,
      postgresData: home.data,
      report: (line) => reports.push(line),
      deadlineMs: 10_000,
    });
    expect(await exited).toEqual([0, null]);
    expect(log).toContain('database system is shut down');
    expect(reports).toEqual([expect.stringContaining(`postgres ${left.pid}`)]);
  });
});

describe('a start of the embedded PostgreSQL', () => {
  const newFolder = temporaryFolders();
  const running: SupervisedProcess[] = [];
  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop();
  });

  async function start(...where: Parameters<typeof startPostgres>) {
    const started = await startPostgres(...where);
    running.push(started.server);
    return started;
  }

  if (isRoot)
    describe('started by root', () => {
      test('keeps programs and data in folders that the user can enter, when it cannot enter a home of mode 0700', async () => {
        const folder = await newFolder();
        await chmod(folder, 0o755);
        const [privateHome, shared] = [join(folder, 'root'), join(folder, 'shared')];
        const [dataFolder, native] = [
          join(privateHome, '.gatehouse'),
          join(privateHome, 'package', 'native'),
        ];
        await mkdir(dataFolder, { recursive: true });
        await mkdir(join(privateHome, 'package'));
        await once(spawn('cp', ['-a', join(installedPostgres(), '..'), join(privateHome)]), 'exit');
        await once(spawn('mv', [join(privateHome, 'linux-x64', 'native'), native]), 'exit');
        await writeFile(join(native, '..', 'package.json'), '{"version":"18.4.0"}');
        await chmod(privateHome, 0o700);
        const reports: string[] = [];
        const report = (line: string) => reports.push(line);

        const home = await findPostgresHome({ dataFolder, native, shared, report });
        const { server, url } = await start(privateHome, home);
        await query(url, 'CREATE TABLE kept (id int)');
        await server.stop();
        await rememberPostgresHome(dataFolder, home);

        expect(home.data.startsWith(shared)).toBe(true);
        expect(home.programs).toBe(join(shared, 'postgresql-18.4.0'));
        expect(reports).toEqual([
          expect.stringContaining('Keeping the database in'),
          expect.stringContaining('Copying PostgreSQL to'),
        ]);
        const again = await findPostgresHome({ dataFolder, native, shared, report });
        expect(again).toEqual(home);
        expect(await query((await start(privateHome, again)).url, 'SELECT * FROM kept')).toEqual([]);
        expect(reports).toHaveLength(2);
      });

      test('does not replace a missing database in another folder by an empty one', async () => {
        const folder = await newFolder();
        await writeFile(join(folder, 'postgres.path'), '/var/lib/gatehouse/gone/postgres\n');
        await expect(homeIn(folder)).rejects.toThrow(/that folder does not exist\. Put it back/);
      });
    });
});

describe('the broker of one command', () => {
  const close: (() => unknown)[] = [];
  afterEach(async () => {
    for (const each of close.splice(0).toReversed()) await each();
  });
  // After the disk is unmounted, its folder can be removed.
  const newFolder = temporaryFolders();

  test('is started again, with its events when its disk was full, and without them when its store was deleted', async () => {
    const folder = await newFolder();
    const disk = mountSmallDisk(folder);
    if (!('problem' in disk)) close.push(disk.unmount);
    const [port = 0] = await choosePorts([{ setting: 'any', host: '127.0.0.1', port: 0 }]);
    const signal = new AbortController().signal;
    const program = await findOrInstallNatsServer({ report: () => undefined, signal });
    const url = natsUrl({ port, password });
    const warnings: string[] = [];
    const server = await supervise(natsProcess({ program, folder, port, password, marker: {} }), {
      log: await beginLog(join(await newFolder(), 'nats-server.log')),
      ...{ signal, warn: (line: string) => warnings.push(line), askEveryMs: 50 },
    });
    close.push(server.stop);
    const { username: user, password: pass, host } = new URL(url);
    const connection = await connect({ servers: host, user, pass });
    close.push(() => connection.close());
    const stream = connection.jetstream();
    await (await connection.jetstreamManager()).streams.add({ name: 'ORDERS', subjects: ['orders'] });
    await stream.publish('orders', 'first');
    expect(await storeAnswers(url, 3_000)).toBe(true);

    const pid = server.pid() ?? 0;
    if ('problem' in disk) process.kill(pid, 'SIGSTOP');
    else {
      await disk.fill();
      while (await storeAnswers(url, 500)) connection.publish('orders', new Uint8Array(8_192));
      disk.makeRoom();
    }
    await waitUntil('it runs again', async () => server.pid() !== pid && (await storeAnswers(url, 3_000)));
    expect(warnings[0]).toMatch(/^nats-server runs but no longer answers; ending it\./);
    const again = await connect({ servers: host, user, pass });
    close.push(() => again.close());
    const { state } = await (await again.jetstreamManager()).streams.info('ORDERS');
    expect(state.messages).toBeGreaterThan(0);

    const second = server.pid();
    await rm(join(folder, 'jetstream'), { recursive: true });
    await waitUntil(
      'it has a new store',
      async () => server.pid() !== second && (await storeAnswers(url, 3_000)),
    );
    expect(existsSync(join(folder, 'jetstream'))).toBe(true);
  });
});

describe('servers for tests', () => {
  test('PostgreSQL and NATS start on free ports, and leave no process and no folder', async () => {
    const servers = await Promise.all([startTemporaryPostgres(), startTemporaryNats()]);
    const [postgres, nats] = servers;
    expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    const { username, password: pass } = new URL(nats.url);
    const connection = await connect({ servers: nats.url, user: username, pass });
    expect(await (await connection.jetstreamManager()).getAccountInfo()).toHaveProperty('storage');
    await connection.close();
    await Promise.all(servers.map((server) => server.stop()));
    await expect(query(postgres.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await expect(connect({ servers: nats.url, user: username, pass, reconnect: false })).rejects.toThrow();
  });
});

test('a program run with a death signal gets it when its parent is killed', async () => {
  const { command, args } = exitWithParent('SIGTERM', 'sleep', ['60']);
  const script = `console.log(require('node:child_process').spawn(${JSON.stringify(command)}, ${JSON.stringify(args)}).pid)`;
  const parent = spawn(process.execPath, ['-e', `${script}; setInterval(() => undefined, 1000)`], {
    stdio: 'pipe',
  });
  const [said] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(said.toString());
  await waitUntil(
    'the program runs',
    async () => (await readFile(`/proc/${pid}/comm`, 'utf8')) === 'sleep\n',
  );
  parent.kill('SIGKILL');
  await waitUntil('the program is gone', async () => !(await isRunning(pid)));
});
