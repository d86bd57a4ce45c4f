import type { Pool, PoolClient } from 'pg';

export interface AdvisoryLock {
  /** Any number that no other user of the database's advisory locks takes. */
  readonly key: number;
  /**
   * The server ends the holder's session when it asks nothing for this long, so that another process can have the lock:
   * from one that hangs, or that the network has cut off. The work must use its connection more often than that.
   */
  readonly silenceMs: number;
}

/**
 * Does the work while holding the lock, over the connection whose session holds it; gives false, without waiting, when
 * another session has it. `lost` aborts when that connection is gone, and the lock with it: what the work writes over
 * the connection cannot be written any more, and it should end.
 */
export async function withAdvisoryLock(
  pool: Pool,
  { key, silenceMs }: AdvisoryLock,
  work: (client: PoolClient, lost: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const client = await pool.connect();
  const lost = new AbortController();
  let failed: Error | undefined;
  // Nobody else listens to a connection that is in use: without this its end would be the process's.
  const onError = (error: Error): void => {
    failed ??= error;
    lost.abort(error);
  };
  client.on('error', onError);
  try {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [key]);
    if (rows[0]?.held !== true) return false;
    await client.query(`set idle_session_timeout = ${silenceMs}`);
    try {
      await work(client, lost.signal);
    } finally {
      await client.query('select pg_advisory_unlock($1)', [key]);
      await client.query('reset idle_session_timeout');
    }
    return true;
  } catch (error) {
    failed ??= error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    // A connection that failed may still hold the lock on the server: ending the session is what surely gives it back.
    client.release(failed);
    client.off('error', onError);
  }
}
