import type pg from 'pg';

/** Inserts a row with these columns into a table. */
export function insertRow(
  database: Pick<pg.Pool, 'query'>,
  table: string,
  row: Readonly<Record<string, unknown>>,
): Promise<pg.QueryResult> {
  const columns = Object.keys(row);
  const values = columns.map((_column, index) => `$${index + 1}`);
  return database.query(
    `insert into ${table} (${columns.join(', ')}) values (${values.join(', ')})`,
    Object.values(row),
  );
}
