import type { Pool, PoolClient } from 'pg';

export interface AdvisoryLock {
  /** A number that no other user of the database's advisory locks uses. */
  readonly key: number;
  /**
   * The server ends the holder's session after this time without a query. So another process gets the lock when the holder
   * hangs or is disconnected. The work must use its connection more often than that, or have it kept in use.
   */
  readonly silenceMs: number;
  /**
   * For work that uses other connections: the time between two queries that keep this one in use. They stop when the event
   * loop is blocked, and not when the work waits for something that never comes.
   */
  readonly keepAliveMs?: number;
}

/** Only the holder's session gets the time limit. */
const lock = `
select case when pg_try_advisory_lock($1)
  then set_config('idle_session_timeout', $2, false) is not null
  else false end as held`;

/**
 * Runs the work while it holds the lock, on the connection whose session holds it. Gives false, without waiting, if another
 * session holds the lock. `lost` aborts when that connection is lost, and the lock with it. The work should then end,
 * because it cannot write on that connection.
 * @throws the error of the work, or that of the connection when it was lost
 */
export async function withAdvisoryLock(
  pool: Pool,
  { key, silenceMs, keepAliveMs }: AdvisoryLock,
  work: (client: PoolClient, lost: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const client = await pool.connect();
  const lost = new AbortController();
  let failed: Error | undefined;
  // The pool leaves an error of a connection in use to its holder, and the ORM's own listener only logs it.
  const onError = (error: Error): void => {
    failed ??= error;
    lost.abort(error);
  };
  client.on('error', onError);
  try {
    const { rows } = await client.query<{ held: boolean }>(lock, [key, silenceMs]);
    if (rows[0]?.held !== true) return false;
    const keepAlive =
      keepAliveMs === undefined
        ? undefined
        : setInterval(() => void client.query('select').catch(onError), keepAliveMs);
    try {
      await work(client, lost.signal);
    } finally {
      clearInterval(keepAlive);
    }
    lost.signal.throwIfAborted();
    await client.query(`select pg_advisory_unlock(${key}); reset idle_session_timeout`);
    return true;
  } catch (error) {
    failed ??= error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    // A failed connection may still hold the lock on the server. Only closing the session is certain to release it.
    client.release(failed);
    client.off('error', onError);
  }
}
