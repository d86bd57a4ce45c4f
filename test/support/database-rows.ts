import type { Client } from 'pg';
import { sql } from './sql.ts';

/** The rows of each table, with the columns that it had. */
export type DatabaseRows = ReadonlyMap<string, TableRows>;

interface TableRows {
  readonly columns: readonly string[];
  readonly rows: ReadonlySet<string>;
}

/** All rows of Gatehouse's tables, without those tables (`core.orders`) and columns (`core.orders.reason`). */
export async function readRows(client: Client, without: readonly string[]): Promise<DatabaseRows> {
  const { rows: tables } = await client.query<{ name: string; columns: string[] }>(sql`
    select table_schema || '.' || table_name as name, array_agg(column_name::text order by ordinal_position) as columns
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema in ('core', 'webhooks') and table_type = 'BASE TABLE'
      and table_schema || '.' || table_name <> all (${without})
      and table_schema || '.' || table_name || '.' || column_name <> all (${without})
    group by 1 order by 1`);
  const all = new Map<string, TableRows>();
  for (const { name, columns } of tables)
    all.set(name, { columns, rows: await rowsOf(client, name, columns) });
  return all;
}

/** The rows that are not there any more as they were. Columns and rows that were added do not count. */
export async function lostRows(client: Client, before: DatabaseRows): Promise<readonly string[]> {
  const lost: string[] = [];
  for (const [name, { columns, rows }] of before) {
    const now = await rowsOf(client, name, columns);
    for (const row of rows) if (!now.has(row)) lost.push(`${name}: ${row}`);
  }
  return lost;
}

async function rowsOf(client: Client, table: string, columns: readonly string[]): Promise<Set<string>> {
  const { rows } = await client.query<{ row: string }>(
    `select (select jsonb_object_agg(key, value) from jsonb_each(to_jsonb(t)) where key = any ($1))::text as row from ${table} t`,
    [columns],
  );
  return new Set(rows.map(({ row }) => row));
}
