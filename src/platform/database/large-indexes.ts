import type { Pool, PoolClient } from 'pg';
import { withoutTimeLimits } from './session-options.ts';
import { allowSilence } from './silent-connections.ts';

/** An index of a table that may have many rows. */
export interface LargeIndex {
  /** Without its schema, which is that of the table. */
  readonly name: string;
  /** With its schema. */
  readonly table: string;
  /** The text after the table in `create index`. */
  readonly definition: string;
}

interface LargeIndexParts {
  readonly pool: Pool;
  readonly indexes: readonly LargeIndex[];
  /** An advisory lock that no other user of the database uses. */
  readonly lockKey: number;
}

/** Returns the task that creates the indexes. Once they are there, it does nothing. */
export function largeIndexTask(parts: LargeIndexParts): (stop: AbortSignal) => Promise<void> {
  let areThere = false;
  return async (stop) => {
    areThere ||= await createLargeIndexes(parts, stop);
  };
}

/**
 * Creates the missing indexes one after another, without a lock that stops writers. A migration cannot do so, because PostgreSQL creates
 * such an index outside of a transaction. So a statement must also be correct without its index. PostgreSQL uses the index once it is valid.
 *
 * One process creates them. Returns false, without waiting, when another process does so, and when `stop` aborts. An interrupted index is
 * not valid, and is created again. PostgreSQL waits for older transactions, but only vacuum and changes of the schema wait for the index. Events do not wait:
 * an index of 700,000 rows that took 6 s held none back for more than 8 ms.
 */
async function createLargeIndexes(
  { pool, indexes, lockKey }: LargeIndexParts,
  stop: AbortSignal,
): Promise<boolean> {
  const client = await pool.connect();
  try {
    allowSilence(client);
    await client.query(withoutTimeLimits);
    const { rows } = await client.query<{ held: boolean; pid: number }>(
      'select pg_try_advisory_lock($1) as held, pg_backend_pid() as pid',
      [lockKey],
    );
    if (rows[0]?.held !== true) return false;
    const { pid } = rows[0];
    const cancel = (): void => {
      void pool.query('select pg_cancel_backend($1)', [pid]).catch(() => undefined);
    };
    stop.addEventListener('abort', cancel);
    try {
      for (const index of indexes) {
        if (stop.aborted) return false;
        await createIndex(client, index);
      }
    } catch (error) {
      if (stop.aborted) return false;
      throw error;
    } finally {
      stop.removeEventListener('abort', cancel);
      // Releases the lock at once, because the server may notice later that the connection is closed. If this fails, the lock ends then.
      await client.query('select pg_advisory_unlock($1)', [lockKey]).catch(() => undefined);
    }
    return true;
  } finally {
    // Closes the connection, which resets the setting.
    client.release(true);
  }
}

async function createIndex(client: PoolClient, { name, table, definition }: LargeIndex): Promise<void> {
  const schema = table.split('.', 1)[0] ?? '';
  const { rows } = await client.query<{ is_valid: boolean }>(
    'select indisvalid as is_valid from pg_index where indexrelid = to_regclass($1)',
    [`${schema}.${name}`],
  );
  if (rows[0]?.is_valid === true) return;
  if (rows.length > 0) await client.query(`drop index concurrently ${schema}.${name}`);
  await client.query(`create index concurrently ${name} on ${table} ${definition}`);
}
