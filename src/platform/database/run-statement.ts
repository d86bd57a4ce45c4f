import { types } from 'pg';
import type { Pool, PoolClient, QueryResultRow } from 'pg';

export interface Statement {
  readonly text: string;
  readonly values?: unknown[];
  /** Given: the server prepares the statement once per connection and remembers it by this name. */
  readonly name?: string;
}

/**
 * A list for `unnest`, of a length that PostgreSQL does not see while it plans: it reckons with ten. When it sees that there
 * are fewer, it finds a plan of its own for them cheaper than the one it could keep for any number, and makes one at every
 * execution; for a request that comes alone that took longer (0.2 ms) than all the rest of the statement. Of the lists of
 * one `unnest` the longest counts, so one that is hidden is enough.
 */
export const ofAnyLength = (list: string): string => `(select ${list})`;

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
