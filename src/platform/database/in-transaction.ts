import { types } from 'pg';
import type { Pool, PoolClient, QueryResult, QueryResultRow } from 'pg';
import type { Statement } from './run-statement.ts';

/** The rows of each statement of a list, in its order. */
type RowsOfEach = readonly QueryResultRow[][];

/**
 * Runs statements as the last ones of the transaction, and commits, in one round trip. Returns the rows of each. If a statement fails,
 * those behind it fail too, nothing is committed, and the error of the first is thrown.
 */
export type CommitWith = (statements: readonly Statement[]) => Promise<RowsOfEach>;

/**
 * Runs `work` in its own transaction, without the ORM. An error from `work` rolls everything back. The `opening` statements
 * are sent together with BEGIN, and `work` gets the rows of each. Those without parameters come first. They may only lock, read
 * and set: if the server refuses BEGIN alone, it runs them without a transaction. `work` may end with `commitWith`, which saves a
 * round trip. Otherwise the transaction is committed after it.
 */
export async function inTransaction<T>(
  pool: Pool,
  opening: readonly (string | Statement)[],
  work: (client: PoolClient, opened: RowsOfEach, commitWith: CommitWith) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let isBroken = false;
  const commitWith: CommitWith = async (statements) => {
    const results = await runTogether(client, [...statements, 'commit']);
    // PostgreSQL answers ROLLBACK to the COMMIT of a failed transaction.
    if (results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back');
    return results.slice(0, -1).map(({ rows }) => rows);
  };
  try {
    const result = await work(client, await begin(client, opening), commitWith);
    if (isInTransaction(client)) await commitWith([]);
    return result;
  } catch (error) {
    // Otherwise COMMIT has rolled back, and the server would log a warning.
    if (isInTransaction(client)) await client.query('rollback').catch(() => (isBroken = true));
    throw error;
  } finally {
    // A connection whose rollback failed is not used again.
    client.release(isBroken);
  }
}

/** Idle is the only state outside of a transaction. */
const isInTransaction = (client: PoolClient): boolean => client.getTransactionStatus() !== 'I';

async function begin(client: PoolClient, opening: readonly (string | Statement)[]): Promise<RowsOfEach> {
  const texts = opening.filter((each) => typeof each === 'string');
  const prepared = opening.filter((each) => typeof each !== 'string');
  const [began, ...results] = await runTogether(client, [['begin', ...texts].join(';\n'), ...prepared]);
  // pg returns a list for a text of several statements.
  const [, ...ofTexts] = Array.isArray(began) ? (began as readonly QueryResult<QueryResultRow>[]) : [began];
  return [...ofTexts, ...results].map((result) => result?.rows ?? []);
}

/**
 * Sends all statements in one packet, and waits for all answers. Without `pipeline` among the options of the connection, pg would send
 * each statement after the answer to the one before. Throws the error of the first that failed.
 */
async function runTogether(
  client: PoolClient,
  statements: readonly (string | Statement)[],
): Promise<readonly QueryResult<QueryResultRow>[]> {
  const { stream } = client.connection;
  stream.cork();
  const sent = statements.map((statement) =>
    client.query(typeof statement === 'string' ? { text: statement, types } : { ...statement, types }),
  );
  stream.uncork();
  const answers = await Promise.allSettled(sent);
  return answers.map((answer) => {
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  });
}
