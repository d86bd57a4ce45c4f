import { types } from 'pg';
import type { Pool, PoolClient, QueryResultRow } from 'pg';

/**
 * Runs `work` in its own transaction, without the ORM. An error from `work` rolls everything back. The `opening` statements
 * are sent together with BEGIN, and `work` gets the rows of each. They must have no parameters.
 */
export async function inTransaction<T>(
  pool: Pool,
  opening: readonly string[],
  work: (client: PoolClient, opened: readonly QueryResultRow[][]) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let isBroken = false;
  try {
    const began: unknown = await client.query({ text: ['begin', ...opening].join(';\n'), types });
    const [, ...opened] = (Array.isArray(began) ? began : [began]) as { rows: QueryResultRow[] }[];
    const result = await work(
      client,
      opened.map(({ rows }) => rows),
    );
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => (isBroken = true));
    throw error;
  } finally {
    // A connection whose rollback failed is not used again.
    client.release(isBroken);
  }
}
