import type { CustomTypesConfig, QueryResult, QueryResultRow } from 'pg';
import type { Statement } from './run-statement.ts';
import { runGroup } from './statement-group.ts';

/** The statements that run before this one, in the same round trip. */
const before = Symbol('before');
/** Marks a statement that the transaction is committed with. */
const commits = Symbol('commits');

interface Together extends Statement {
  readonly [before]: readonly Statement[];
  readonly [commits]?: true;
}

/** A statement of a grouped transaction, with others that run before it in the same round trip. The ORM takes them as one statement. */
export const runningFirst = (first: readonly Statement[], statement: Statement): Together => ({
  ...statement,
  [before]: first,
});

/**
 * Statements with which a grouped transaction is committed, as the one statement that the ORM takes. Every later statement of the transaction
 * is refused.
 */
export const committing = (statements: readonly [Statement, ...Statement[]]): Together => ({
  ...runningFirst(statements.slice(0, -1), statements.at(-1) ?? statements[0]),
  [commits]: true,
});

/** A connection as the ORM uses it (kysely's `DatabaseConnection`). pg gets `sql` and `parameters` as they are. */
export interface OrmConnection {
  executeQuery: (query: OrmQuery) => Promise<OrmResult>;
}

interface OrmQuery {
  readonly sql: unknown;
  readonly parameters: readonly unknown[];
}

interface OrmResult {
  readonly rows: QueryResultRow[];
  readonly numAffectedRows?: bigint | undefined;
}

/**
 * Lets the ORM's transactions take fewer round trips: BEGIN travels with the first statement, and COMMIT with a `committing` one
 * (docs/adr/0055). The ORM still sends each of them, and gets an answer at once. Returns the ORM's `onReserveConnection`.
 * `types` are those of the ORM's values.
 */
export function groupTransactions(types: () => CustomTypesConfig | undefined) {
  const transactions = new WeakMap<OrmConnection, GroupedTransaction>();
  return (connection: OrmConnection): Promise<void> => {
    const known = transactions.get(connection);
    // The previous user of the connection may have failed between BEGIN and its end.
    known?.forget();
    if (known === undefined) {
      const transaction = new GroupedTransaction(connection.executeQuery.bind(connection), types);
      transactions.set(connection, transaction);
      connection.executeQuery = (query) => transaction.answer(query);
    }
    return Promise.resolve();
  };
}

const begin = { name: 'begin', text: 'begin' };
const commit = { name: 'commit', text: 'commit' };
const nothing: OrmResult = { rows: [] };

/** The transaction of one connection. */
class GroupedTransaction {
  readonly #execute: OrmConnection['executeQuery'];
  readonly #types: () => CustomTypesConfig | undefined;
  /** `BEGUN`: BEGIN waits for the first statement. `COMMITTED`: the last statement has committed it. */
  #state: 'NONE' | 'BEGUN' | 'COMMITTED' = 'NONE';

  constructor(execute: OrmConnection['executeQuery'], types: () => CustomTypesConfig | undefined) {
    this.#execute = execute;
    this.#types = types;
  }

  forget(): void {
    this.#state = 'NONE';
  }

  async answer(query: OrmQuery): Promise<OrmResult> {
    const state = this.#state;
    const statement = statementOf(query);
    if (state === 'NONE' && statement.text === begin.text) {
      this.#state = 'BEGUN';
      return nothing;
    }
    if (state !== 'NONE' && (statement.text === commit.text || statement.text === 'rollback')) {
      this.#state = 'NONE';
      return nothing;
    }
    if (state === 'COMMITTED')
      throw new Error('a statement came after the one that committed the transaction');
    const isGroup = isTogether(statement);
    if (state === 'NONE' && !isGroup) return this.#execute(query);
    this.#state = 'NONE';
    const first = [...(state === 'BEGUN' ? [begin] : []), ...(isGroup ? statement[before] : [])];
    return this.#send(first, statement, isGroup && statement[commits] === true);
  }

  async #send(first: readonly Statement[], statement: Statement, isLast: boolean): Promise<OrmResult> {
    const types = this.#types();
    const typed = types === undefined ? statement : { ...statement, types };
    const sent = [...first, typed, ...(isLast ? [commit] : [])];
    // pg's client answers the group itself, and the ORM's connection returns at once.
    const results = await runGroup((group) => this.#execute({ sql: group, parameters: [] }), sent);
    if (isLast) {
      // PostgreSQL answers ROLLBACK to the COMMIT of a failed transaction.
      if (results.at(-1)?.command !== 'COMMIT') throw new Error('the transaction was rolled back');
      this.#state = 'COMMITTED';
    }
    const result = results[first.length];
    if (result === undefined) throw new Error('the server has not answered the statement');
    return resultOf(result);
  }
}

const isTogether = (statement: Statement): statement is Together => before in statement;

const statementOf = ({ sql, parameters }: OrmQuery): Statement => ({
  ...(typeof sql === 'string' ? { text: sql } : (sql as Statement)),
  values: [...parameters],
});

const writes = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** The result of a statement in the form of kysely. */
const resultOf = ({ command, rowCount, rows }: QueryResult<QueryResultRow>): OrmResult => ({
  rows,
  numAffectedRows: writes.has(command) ? BigInt(rowCount ?? 0) : undefined,
});
