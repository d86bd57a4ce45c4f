import type pg from 'pg';

/** A column that a statement writes: all except those that PostgreSQL fills itself. */
export interface Column {
  readonly name: string;
  /** The type in the form of a cast. */
  readonly type: string;
}

/** Read from the catalogue, so that the rows always have the columns of core's tables. */
export async function columnsOf(client: pg.ClientBase, table: string): Promise<readonly Column[]> {
  const { rows } = await client.query<Column>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''
       and format_type(atttypid, atttypmod) <> 'xid8'
     order by attnum`,
    [table],
  );
  return rows;
}
