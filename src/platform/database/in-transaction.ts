import type { Pool, PoolClient, QueryResultRow } from 'pg';
import type { Statement } from './run-statement.ts';
import { runTogether } from './statement-group.ts';

/** The rows of each statement of a list, in its order. */
type RowsOfEach = readonly QueryResultRow[][];

/**
 * Runs statements as the last ones of the transaction, and commits, in one round trip. Returns the rows of each. If a statement fails,
 * those behind it do not run, nothing is committed, and its error is thrown.
 */
export type CommitWith = (statements: readonly Statement[]) => Promise<RowsOfEach>;

const begin = { name: 'begin', text: 'begin' };
const commit = { name: 'commit', text: 'commit' };

/**
 * Runs `work` in its own transaction, without the ORM. An error from `work` rolls everything back. The `opening` statements
 * are sent together with BEGIN, and `work` gets the rows of each. `work` may end with `commitWith`, which saves a round trip.
 * Otherwise the transaction is committed after it.
 */
export async function inTransaction<T>(
  pool: Pool,
  opening: readonly (string | Statement)[],
  work: (client: PoolClient, opened: RowsOfEach, commitWith: CommitWith) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let isBroken = false;
  const transaction = { isOpen: true };
  const commitWith: CommitWith = async (statements) => {
    const results = await runTogether(client, [...statements, commit]);
    transaction.isOpen = false;
    // PostgreSQL answers ROLLBACK to the COMMIT of a failed transaction.
    if (results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back');
    return results.slice(0, -1).map(({ rows }) => rows);
  };
  try {
    const [, ...opened] = await runTogether(client, [begin, ...opening]);
    const result = await work(
      client,
      opened.map(({ rows }) => rows),
      commitWith,
    );
    if (transaction.isOpen) await commitWith([]);
    return result;
  } catch (error) {
    if (transaction.isOpen) await client.query('rollback').catch(() => (isBroken = true));
    throw error;
  } finally {
    // A connection whose rollback failed is not used again.
    client.release(isBroken);
  }
}
