import type { EntityManager } from '@mikro-orm/postgresql';
import type { QueryResultRow } from 'pg';
import { committing, runningFirst } from './grouped-transactions.ts';
import type { Statement } from './run-statement.ts';

/** The methods of kysely and its transactions that are used here. */
interface OrmExecutor {
  /** Takes `{ query: { kind: 'RawNode' }, sql, parameters }`. */
  executeQuery(query: object): Promise<{ readonly rows: QueryResultRow[] }>;
}

/**
 * Runs an SQL statement in the ORM's transaction, prepared once per connection under its name. The ORM itself writes values into
 * each statement's text, so PostgreSQL plans it again every time. Times are text, as the ORM's mapping expects. The statements `first`
 * run before it in the same round trip, and their rows are dropped.
 * @throws TypeError outside a transaction
 */
export async function runInTransaction<Row extends QueryResultRow>(
  em: EntityManager,
  statement: Statement,
  first: readonly Statement[] = [],
): Promise<Row[]> {
  const transaction = em.getTransactionContext<OrmExecutor | undefined>();
  if (transaction === undefined) throw new TypeError('the statement needs a transaction');
  return executeStatement(transaction, first.length === 0 ? statement : runningFirst(first, statement));
}

/** The same for a reading, in the ORM's transaction if it has one. */
export function runReading<Row extends QueryResultRow>(
  em: EntityManager,
  statement: Statement,
): Promise<Row[]> {
  const transaction = em.getTransactionContext<OrmExecutor | undefined>();
  return executeStatement(transaction ?? em.getConnection().getClient(), statement);
}

async function executeStatement<Row extends QueryResultRow>(
  executor: OrmExecutor,
  { values = [], ...statement }: Statement,
): Promise<Row[]> {
  // Kysely hands both to pg's `query` as they are, and pg takes a named statement there in place of a text.
  const { rows } = await executor.executeQuery({
    query: { kind: 'RawNode' },
    sql: statement,
    parameters: values,
  });
  return rows as Row[];
}

/**
 * Runs SQL statements as the last ones of the ORM's transaction, and commits in the same round trip. Changes that the ORM has not written yet are
 * written first. Any later statement of the transaction is refused.
 */
export async function commitWith(
  em: EntityManager,
  statements: readonly [Statement, ...Statement[]],
): Promise<void> {
  await em.flush();
  // Otherwise the ORM would compare all rows once more before the COMMIT that it still sends.
  em.clear();
  await runInTransaction(em, committing(statements));
}
