import { Query, types } from 'pg';
import type { Connection, CustomTypesConfig, PoolClient, QueryResult, QueryResultRow, Submittable } from 'pg';
import type { Statement } from './run-statement.ts';

/** A statement, with its own types of values if they are not pg's. */
type GroupedStatement = string | (Statement & { readonly types?: CustomTypesConfig });

/**
 * Runs statements one after another in one round trip, and returns the result of each. Unless one of them is BEGIN, they are a
 * transaction. If one fails, those behind it do not run, and its error is thrown.
 *
 * The server answers the group with one packet, because the client asks for answers only at the end. pg itself asks after each statement.
 * See Sync in PostgreSQL's documentation, "Extended Query".
 */
export const runTogether = (
  client: PoolClient,
  statements: readonly GroupedStatement[],
): Promise<readonly QueryResult<QueryResultRow>[]> => runGroup((group) => client.query(group), statements);

/** The same with the function that gives the group to the connection's `query`. Its result does not matter, unless it rejects. */
export const runGroup = (
  query: (group: Submittable) => unknown,
  statements: readonly GroupedStatement[],
): Promise<readonly QueryResult<QueryResultRow>[]> =>
  new Promise((resolve, reject) => {
    const asked = query(new StatementGroup(statements, resolve, reject));
    if (asked instanceof Promise) asked.catch(reject);
  });

declare module 'pg' {
  /** The methods that pg's client calls on the query that the server answers. pg-cursor relies on them too. */
  interface Query {
    readonly name: string | undefined;
    readonly text: string;
    readonly handleRowDescription: (message: unknown) => void;
    readonly handleDataRow: (message: unknown) => void;
    readonly handleCommandComplete: (message: unknown, connection: Connection) => void;
    readonly handleReadyForQuery: (connection: Connection) => void;
  }
  interface Connection {
    /** The texts of the statements that the server was asked to prepare, and has not prepared yet, by their names. */
    readonly submittedNamedStatements: Record<string, string>;
  }
}

class StatementGroup implements Submittable {
  readonly #queries: readonly Query[];
  readonly #results: QueryResult<QueryResultRow>[] = [];
  readonly #resolve: (results: readonly QueryResult<QueryResultRow>[]) => void;
  readonly #reject: (error: Error) => void;
  /** The number of queries that the server has answered. */
  #answered = 0;
  /** The error of a row that could not be read. */
  #unreadable: Error | undefined;

  constructor(
    statements: readonly GroupedStatement[],
    resolve: (results: readonly QueryResult<QueryResultRow>[]) => void,
    reject: (error: Error) => void,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#queries = statements.map((statement) => {
      const own = typeof statement === 'string' ? { text: statement } : statement;
      const config = { types, ...own, queryMode: 'extended' };
      return new Query<QueryResultRow>(config, (error, result) => {
        this.#unreadable ??= error ?? undefined;
        this.#results.push(result);
      });
    });
  }

  /** pg notes a statement as prepared under the name and text of the query that is answered at that moment. */
  get name(): string | undefined {
    return this.#current?.name;
  }
  get text(): string {
    return this.#current?.text ?? '';
  }

  submit(connection: Connection): void {
    const withoutSync = Object.create(connection, { sync: { value: () => undefined } }) as Connection;
    connection.stream.cork();
    for (const query of this.#queries) query.submit(withoutSync);
    connection.sync();
    connection.stream.uncork();
  }

  handleRowDescription(message: unknown): void {
    this.#current?.handleRowDescription(message);
  }

  handleDataRow(message: unknown): void {
    this.#current?.handleDataRow(message);
  }

  handleCommandComplete(message: unknown, connection: Connection): void {
    this.#current?.handleCommandComplete(message, connection);
    this.#current?.handleReadyForQuery(connection);
    this.#answered += 1;
  }

  handleReadyForQuery(): void {
    if (this.#unreadable === undefined) this.#resolve(this.#results);
    else this.#reject(this.#unreadable);
  }

  handleError(error: Error, connection: Connection): void {
    // The server has not read the statements behind the failed one. The next use must prepare them.
    for (const { name = '' } of this.#queries.slice(this.#answered))
      Reflect.deleteProperty(connection.submittedNamedStatements, name);
    this.#reject(error);
  }

  get #current(): Query | undefined {
    return this.#queries[this.#answered];
  }
}
