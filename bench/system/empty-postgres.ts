import pg from 'pg';
import { ownPostgres } from '../../test/faults/stoppable-servers.ts';
import { databaseUrl, shareServers, templateDatabase } from '../../test/support/servers.ts';
import { parentOf } from '../load/process-usage.ts';

/** Settings of the server, such as `track_commit_timestamp = on`. */
type Settings = readonly string[];

/**
 * Starts a durable PostgreSQL for a stack that is started afterwards, and that starts its own broker. `started` gets the server before anything
 * else can fail. Returns the process id of its postmaster.
 */
export async function startEmptyPostgres(
  started: (server: Awaited<ReturnType<typeof ownPostgres>>) => void,
  settings: Settings = [],
): Promise<number> {
  const postgres = await ownPostgres();
  started(postgres);
  await postgres.start();
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  for (const setting of settings) await client.query(`alter system set ${setting}`);
  await client.query(`create database ${templateDatabase}`);
  await client.end();
  if (settings.length > 0) {
    await postgres.stop();
    await postgres.start();
  }
  // An empty URL makes the stack start its own broker.
  shareServers({ postgresUrl: databaseUrl(postgres.url, 'postgres'), natsUrl: '' });
  return postmasterOf(postgres.url);
}

async function postmasterOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const pid = parentOf(rows[0]?.pid ?? 0);
  await client.end();
  return pid;
}
