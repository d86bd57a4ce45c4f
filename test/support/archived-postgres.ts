import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';
import { choosePorts } from '../../src/main/local/free-port.ts';
import { beginLog } from '../../src/main/local/log-file.ts';
import { findPostgresHome, installedPostgres, sharedFolder } from '../../src/main/local/postgres-home.ts';
import { databaseUrl, postgresProcess } from '../../src/main/local/postgres.ts';
import { supervise } from '../../src/main/local/supervisor.ts';
import type { ProcessSpec, SupervisedProcess } from '../../src/main/local/supervisor.ts';
import { hangMs, insist, waitUntil } from './wait-until.ts';
import { connectToDatabase, queryOnce } from './database-connections.ts';

const execute = promisify(execFile);

/** The command of docs/operating/backup.md, with another folder. */
export async function archiveCommand(archive: string): Promise<string> {
  const page = await readFile(join(import.meta.dirname, '../../docs/operating/backup.md'), 'utf8');
  const [, command = ''] = /archive_command = '(.+)'/.exec(page) ?? [];
  return command.replaceAll('/archive', archive);
}

export type ArchivedPostgres = Awaited<ReturnType<typeof startArchivedPostgres>>;

/**
 * A PostgreSQL whose WAL is archived, as docs/operating/backup.md describes it. The copy of the data folder is made between two SQL functions, because the npm package has no pg_basebackup.
 * GATEHOUSE_TEST_PG_BASEBACKUP names one of version 18, which then makes it.
 */
export async function startArchivedPostgres({ archiveTimeoutSeconds = 0 } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-archived-'));
  const archive = join(folder, 'archive');
  const base = join(folder, 'base');
  await mkdir(archive);
  await chmod(archive, 0o777);
  const home = await findPostgresHome({
    dataFolder: folder,
    native: installedPostgres(),
    shared: sharedFolder,
    report: () => undefined,
  });
  const [port = 0] = await choosePorts([{ setting: 'a free port', host: '127.0.0.1', port: 0 }]);
  const password = 'temporary-and-on-loopback-only';
  const url = databaseUrl({ port, password });
  const archiving = {
    archive_mode: 'on',
    archive_timeout: String(archiveTimeoutSeconds),
    archive_command: await archiveCommand(archive),
  };
  let server: SupervisedProcess | undefined;
  let stopSignal: NodeJS.Signals = 'SIGINT';
  const start = async (settings: Readonly<Record<string, string>>): Promise<void> => {
    const options = {
      home,
      port,
      password,
      marker: {},
      durable: true,
      settings: { ...archiving, ...settings },
    };
    const spec: ProcessSpec = {
      ...postgresProcess(options),
      isReady: ({ log: output }) =>
        output().then((text) => text.includes('database system is ready to accept')),
      stopTimeoutMs: hangMs,
      get stopSignal() {
        return stopSignal;
      },
    };
    const log = await beginLog(join(folder, 'postgres.log'));
    server = await supervise(spec, { log, warn: () => undefined, signal: new AbortController().signal });
  };
  const query = async <Row extends pg.QueryResultRow>(sql: string): Promise<Row | undefined> =>
    (await queryOnce<Row>(url, sql))[0];
  const belongsToServer = async (path: string): Promise<void> => {
    if (home.user !== undefined) await execute('chown', ['-R', `${home.user.uid}:${home.user.gid}`, path]);
  };
  const copyBetweenFunctions = async (): Promise<void> => {
    const client = await connectToDatabase(url);
    await client.query("select pg_backup_start('drill', true)");
    await mkdir(base, { mode: 0o700 });
    const left = ['--exclude=./pg_wal/*', '--exclude=./postmaster.pid', '--exclude=./postmaster.opts'];
    await execute('sh', ['-c', `tar -C ${home.data} ${left.join(' ')} -c . | tar -C ${base} -x`]);
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
    await client.end();
    await writeFile(join(base, 'backup_label'), rows[0]?.labelfile ?? '');
  };
  const copyBase = async (signalFile: string): Promise<void> => {
    await execute('cp', ['-a', base, home.data]);
    await writeFile(join(home.data, signalFile), '');
    await belongsToServer(home.data);
  };
  const restoring = { restore_command: `cp ${archive}/%f %p` };
  await start({});
  return {
    url,
    /** Copies the data folder while the server runs. */
    takeBaseBackup: async () => {
      const program = process.env['GATEHOUSE_TEST_PG_BASEBACKUP'];
      if (program === undefined) await copyBetweenFunctions();
      else await execute(program, ['-d', url, '-D', base, '--wal-method=none', '--checkpoint=fast']);
    },
    /** Returns when everything that is committed now is in the archive. */
    archiveAll: async () => {
      // Directly after another switch, this one would do nothing, and name the segment that is in use.
      await query("select pg_logical_emit_message(false, 'drill', '')");
      const switched = await query<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file');
      await waitUntil('the last segment is archived', async () =>
        (await readdir(archive)).includes(switched?.file ?? ''),
      );
    },
    /** The present time of the server's clock. */
    now: async () => (await query<{ now: string }>('select clock_timestamp()::text as now'))?.now ?? '',
    /** Stops the server and deletes its data folder. `crash` archives nothing more, `shutdown` archives the rest. */
    lose: async (how: 'crash' | 'shutdown') => {
      // SIGQUIT ends the server at once. SIGINT lets it archive the segment that it was writing.
      stopSignal = how === 'crash' ? 'SIGQUIT' : 'SIGINT';
      await server?.stop();
      stopSignal = 'SIGINT';
      server = undefined;
      await rm(home.data, { recursive: true });
    },
    /** Starts the server from the base backup, up to a time or to the end of the archive. */
    restore: async (until?: string) => {
      await copyBase('recovery.signal');
      const target =
        until === undefined ? {} : { recovery_target_time: until, recovery_target_action: 'promote' };
      await start({ ...restoring, ...target });
      await waitUntil('the archive was replayed', () =>
        insist('the server answers', async () => {
          const found = await query<{ done: boolean }>('select not pg_is_in_recovery() as done');
          return found?.done === true;
        }),
      );
    },
    /** Starts the server from the base backup as a standby, which replays the archive and is read-only until `promote`. */
    startStandby: async () => {
      await copyBase('standby.signal');
      await start(restoring);
    },
    promote: async () => {
      await query('select pg_promote()');
    },
    stop: async () => {
      await server?.stop();
      await rm(folder, { recursive: true });
    },
  };
}
