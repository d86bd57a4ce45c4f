import type { Pool, PoolClient, QueryResult } from 'pg';
import type { Statement } from './run-statement.ts';
import { runTogether } from './statement-group.ts';

/** Marks a statement that the transaction is committed with. */
const commits = Symbol('commits');

/** A statement with which a grouped transaction is committed. Every later statement of the transaction is refused. */
export const committing = <S extends Statement>(statement: S): S => ({ ...statement, [commits]: true });

/**
 * Lets the ORM's transactions on these connections take fewer round trips: BEGIN travels with the first statement, and COMMIT
 * with a `committing` one (docs/adr/0055). The ORM still sends each of them, and gets an answer at once.
 */
export function groupTransactions(pool: Pool): void {
  const transactions = new WeakMap<PoolClient, GroupedTransaction>();
  pool.on('connect', (client) => {
    const transaction = new GroupedTransaction(client);
    transactions.set(client, transaction);
    const send = client.query.bind(client) as (...sent: readonly unknown[]) => unknown;
    const query = (...sent: readonly unknown[]): unknown => transaction.answer(sent) ?? send(...sent);
    Object.assign(client, { query });
  });
  pool.on('release', (_error, client) => transactions.get(client)?.forget());
}

const begin = { name: 'begin', text: 'begin' };
const commit = { name: 'commit', text: 'commit' };

/** The transaction of one connection. */
class GroupedTransaction {
  readonly #client: PoolClient;
  /** `BEGUN`: BEGIN waits for the first statement. `COMMITTED`: the last statement has committed it. */
  #state: 'NONE' | 'BEGUN' | 'COMMITTED' = 'NONE';

  constructor(client: PoolClient) {
    this.#client = client;
  }

  forget(): void {
    this.#state = 'NONE';
  }

  /** The answer to a query of the ORM; undefined if the connection must send it as it is. */
  answer([query, values, ...others]: readonly unknown[]): Promise<Partial<QueryResult>> | undefined {
    const state = this.#state;
    if (state === 'NONE' && query === 'begin') {
      this.#state = 'BEGUN';
      return done('BEGIN');
    }
    const statement = others.length > 0 ? undefined : statementOf(query, values);
    if (statement === undefined) {
      // It would run outside the transaction.
      if (state !== 'NONE') throw new TypeError('the ORM asks for its answer in another form than a promise');
      return undefined;
    }
    if (state !== 'NONE' && (query === 'commit' || query === 'rollback')) {
      this.#state = 'NONE';
      return done(state === 'COMMITTED' ? 'COMMIT' : 'ROLLBACK');
    }
    if (state === 'COMMITTED')
      return Promise.reject(new Error('a statement came after the one that committed the transaction'));
    const isLast = commits in statement;
    if (state === 'NONE' && !isLast) return undefined;
    this.#state = 'NONE';
    return this.#send(statement, state === 'BEGUN', isLast);
  }

  async #send(statement: Statement, isFirst: boolean, isLast: boolean): Promise<QueryResult> {
    const client = this.#client;
    // The ORM's connections return times as text.
    const typed = { ...statement, types: { getTypeParser: client.getTypeParser.bind(client) } };
    const sent = [...(isFirst ? [begin] : []), typed, ...(isLast ? [commit] : [])];
    const results = await runTogether(client, sent);
    if (isLast) {
      // PostgreSQL answers ROLLBACK to the COMMIT of a failed transaction.
      if (results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back');
      this.#state = 'COMMITTED';
    }
    const result = results[isFirst ? 1 : 0];
    if (result === undefined) throw new Error('the server has not answered the statement');
    return result;
  }
}

const done = (command: string): Promise<Partial<QueryResult>> =>
  Promise.resolve({ command, rowCount: 0, rows: [] });

/** The statement of a query of the ORM; undefined for queries that answer by themselves, or by a callback. */
function statementOf(query: unknown, values: unknown): Statement | undefined {
  if (typeof values === 'function') return undefined;
  const own = Array.isArray(values) ? { values } : {};
  if (typeof query === 'string') return { text: query, ...own };
  if (typeof query !== 'object' || query === null || 'submit' in query || !('text' in query))
    return undefined;
  return { ...(query as Statement), ...own };
}
