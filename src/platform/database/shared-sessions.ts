import type { Pool, PoolClient } from 'pg';
import pTimeout from 'p-timeout';

/** The problem and the advice, for the start of a process and for operators. */
export const sharedSessionsRefusal = `A pooler shares PostgreSQL's sessions between the connections of Gatehouse, as PgBouncer does with pool_mode = transaction.
Gatehouse holds locks that belong to a session, so events would stop, and others could end its locks.
Connect to PostgreSQL without the pooler, or set pool_mode = session for this database: docs/scaling.md#connections-to-postgresql`;

/** A pooler that others use too may by chance give the same session a few times. */
const rounds = 4;
/** All other connections of a busy pool may wait for a lock, and must not be waited for. */
const secondWithinMs = 1_000;

/**
 * Whether a session does not belong to one connection: two open connections have the same session, or a connection has several in turn.
 * Neither happens without a pooler. If the pool gives no second connection within a second, there is nothing to compare, and the answer is
 * false.
 */
export async function areSessionsShared(pool: Pool): Promise<boolean> {
  const first = await pool.connect();
  try {
    const second = await connectSoon(pool);
    if (second === undefined) return false;
    try {
      return await haveSharedSessions(first, second);
    } finally {
      second.release();
    }
  } finally {
    first.release();
  }
}

async function connectSoon(pool: Pool): Promise<PoolClient | undefined> {
  const connecting = pool.connect();
  try {
    return await pTimeout(connecting, { milliseconds: secondWithinMs });
  } catch {
    connecting.then(
      (late) => late.release(),
      () => undefined,
    );
    return undefined;
  }
}

async function haveSharedSessions(first: PoolClient, second: PoolClient): Promise<boolean> {
  const own = await sessionOf(first);
  for (let round = 0; round < rounds; round += 1) {
    // A pooler may give the session that was used last, or the one that was not used for the longest time. The first connection asks twice
    // in a row, so that two sessions in turn are noticed too.
    if ((await sessionOf(first)) !== own || (await sessionOf(second)) === own) return true;
  }
  return false;
}

async function sessionOf(client: PoolClient): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}
