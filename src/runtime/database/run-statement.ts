import { types } from 'pg';
import type { Pool, PoolClient, QueryResultRow } from 'pg';

export interface Statement {
  readonly text: string;
  readonly values?: unknown[];
  /** Given: the server prepares the statement once per connection and remembers it by this name. */
  readonly name?: string;
}

/**
 * Runs a statement that is SQL, on the ORM's connections. The ORM makes them give times as text, for its own mapping to
 * read; here they are Dates, as pg gives them by itself. 64-bit integers are text in both.
 */
export async function runStatement<Row extends QueryResultRow>(
  client: Pool | PoolClient,
  statement: Statement,
): Promise<Row[]> {
  const { rows } = await client.query<Row>({ ...statement, types });
  return rows;
}
