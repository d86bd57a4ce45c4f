import pg from 'pg';
import { startTemporaryPostgres } from '../../src/main/local/temporary-servers.ts';
import { databaseUrl } from '../../test/support/servers.ts';
import { parentOf } from '../load/process-usage.ts';
import { createCleanUps } from './clean-ups.ts';

/** A PostgreSQL with the delivered durability, in its own folder. */
export interface BenchPostgres {
  readonly postmaster: number;
  /** The settings that affect speed or durability, by name. */
  readonly settings: Readonly<Record<string, string>>;
  /** Makes an empty database. The first core that starts on it makes the tables. */
  readonly createDatabase: (name: string) => Promise<string>;
  /** Makes a database with the same content as another one, which must have no connections. */
  readonly copyDatabase: (from: string, name: string) => Promise<string>;
  readonly stop: () => Promise<void>;
}

const toldSettings = [
  'server_version',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'wal_sync_method',
  'wal_level',
  'shared_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'max_connections',
  'commit_delay',
  'autovacuum',
];

/** Room for pgbench's connections beside those of every process of two Gatehouses. */
const maxConnections = '200';

/**
 * @param own - settings that replace the delivered ones
 * @throws when it does not start, or would acknowledge data that are not on the disk
 */
export async function startPostgres(own: Readonly<Record<string, string>> = {}): Promise<BenchPostgres> {
  const cleanUps = createCleanUps();
  try {
    const server = await startTemporaryPostgres({
      durable: true,
      settings: { max_connections: maxConnections, ...own },
    });
    cleanUps.add(server.stop);
    const admin = new pg.Client({ connectionString: databaseUrl(server.url, 'postgres') });
    await admin.connect();
    cleanUps.add(() => admin.end());
    const { rows } = await admin.query<{ name: string; value: string }>(
      'select name, current_setting(name) as value from pg_settings where name = any($1)',
      [toldSettings],
    );
    const settings = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
    requireDurable(settings);
    const { rows: backends } = await admin.query<{ pid: number }>('select pg_backend_pid() as pid');
    return {
      postmaster: parentOf(backends[0]?.pid ?? 0),
      settings,
      createDatabase: async (name) => {
        await admin.query(`create database ${name}`);
        return databaseUrl(server.url, name);
      },
      copyDatabase: async (from, name) => {
        // This strategy copies files. The other one writes every page into the log, which would slow down the
        // measurement.
        await admin.query(`create database ${name} template ${from} strategy file_copy`);
        const url = databaseUrl(server.url, name);
        // Otherwise core takes the copy for a restored database, and asks the wallets before it takes payments.
        await withClient(url, async (client) => {
          const { rows } = await client.query<{ known: boolean }>(
            `select to_regclass('core.database_life') is not null as known`,
          );
          if (rows[0]?.known === true) await client.query('delete from core.database_life');
        });
        return url;
      },
      stop: cleanUps.run,
    };
  } catch (error) {
    await cleanUps.run();
    throw error;
  }
}

function requireDurable(settings: Readonly<Record<string, string>>): void {
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes'])
    if (settings[name] !== 'on')
      throw new Error(`${name} is ${settings[name]}: what is not durable is not measured`);
}

/** Runs statements on a separate connection. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
