import type pg from 'pg';

/** A column that a statement writes: all but those that PostgreSQL fills by itself. */
export interface Column {
  readonly name: string;
  /** As in a cast. */
  readonly type: string;
}

/** Read from the catalogue, so that what is written here is what core's tables are, whatever they become. */
export async function columnsOf(client: pg.Client, table: string): Promise<readonly Column[]> {
  const { rows } = await client.query<Column>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''
       and format_type(atttypid, atttypmod) <> 'xid8'
     order by attnum`,
    [table],
  );
  return rows;
}
