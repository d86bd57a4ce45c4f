import pg from 'pg';
import { sql } from './sql.ts';
import type { Statement } from './sql.ts';
import { waitUntil } from './wait-until.ts';

export async function connectToDatabase(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

/** Runs one statement on a connection of its own. */
export async function queryOnce<R extends pg.QueryResultRow>(
  url: string,
  statement: string | Statement,
): Promise<R[]> {
  const client = await connectToDatabase(url);
  try {
    return (await client.query<R>(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Runs a statement, and holds its locks for as long as the test needs. Returns how to release them. */
export async function holdLocks(url: string, statement: string | Statement): Promise<() => Promise<void>> {
  const holder = await connectToDatabase(url);
  await holder.query('begin; set local idle_in_transaction_session_timeout = 0');
  await holder.query(statement);
  return async () => {
    await holder.query('commit');
    await holder.end();
  };
}

/**
 * Makes a change whose commit comes only when `call` waits for it, or has ended without waiting. Returns the result of
 * the call.
 */
export async function duringChange<T>(
  url: string,
  statement: string | Statement,
  call: () => Promise<T>,
): Promise<T> {
  const [changing, observer] = [await connectToDatabase(url), await connectToDatabase(url)];
  await changing.query('begin');
  await changing.query(statement);
  const { rows } = await changing.query<{ pid: number }>('select pg_backend_pid() as pid');
  let isEnded = false;
  const calling = call().finally(() => (isEnded = true));
  // It may fail before the connections are closed. The caller gets the error.
  calling.catch(() => undefined);
  await waitUntil('the call waits for the change', async () => {
    const waiting = await observer.query(sql`
      select from pg_stat_activity where ${rows[0]?.pid} = any (pg_blocking_pids(pid))`);
    return isEnded || waiting.rowCount === 1;
  });
  await changing.query('commit');
  await Promise.all([changing.end(), observer.end()]);
  return calling;
}
