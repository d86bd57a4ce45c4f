import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { withSnapshotClient } from './connect-snapshot.ts';
import type { SnapshotDatabase } from './connect-snapshot.ts';
import { SnapshotError, quoted } from './manifest.ts';
import type { Manifest, SnapshotTable } from './manifest.ts';

const application = 'gatehouse-restore';

/** Refuses a database that has one of the schemas already, so that a restore never mixes two states. @throws SnapshotError */
export async function requireEmpty(database: SnapshotDatabase, schemas: readonly string[]): Promise<void> {
  await withSnapshotClient(database, application, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'select nspname as name from pg_namespace where nspname = any ($1) order by 1',
      [schemas],
    );
    const [first] = rows;
    if (first !== undefined)
      throw new SnapshotError(
        `the database already has the schema ${first.name}`,
        'Create an empty database, and set GATEHOUSE_DATABASE_URL to it.',
      );
  });
}

/**
 * Loads the rows of these schemas into tables that their migrations have just made, in one transaction, and compares the numbers
 * of rows. `afterwards` is part of the transaction.
 * @throws SnapshotError when a file has another number of rows than the manifest says
 */
export async function loadSnapshot(
  database: SnapshotDatabase,
  { folder, manifest }: { readonly folder: string; readonly manifest: Manifest },
  schemas: readonly string[],
  afterwards: (client: Client) => Promise<void>,
): Promise<void> {
  const parts = manifest.schemas.filter(({ name }) => schemas.includes(name));
  const tables = manifest.tables.filter(
    ({ schema, name }) => schemas.includes(schema) && name !== 'migrations',
  );
  await withSnapshotClient(database, application, async (client) => {
    await client.query('begin');
    for (const { name: schema, partitions } of parts)
      for (const { name, parent, bound } of partitions)
        await client.query(
          `create table if not exists ${quoted(schema)}.${quoted(name)} partition of ${quoted(schema)}.${quoted(parent)} ${bound}`,
        );
    for (const table of await byReference(client, tables)) await loadTable(client, folder, table);
    for (const { name: schema, sequences } of parts)
      for (const { name, last_value: last } of sequences)
        if (last !== null && name !== 'migrations_id_seq')
          await client.query('select setval($1::regclass, $2::bigint)', [
            `${quoted(schema)}.${quoted(name)}`,
            last,
          ]);
    await afterwards(client);
    await client.query('commit');
    await client.query('analyze');
  });
}

async function loadTable(
  client: Client,
  folder: string,
  { schema, name, columns, file, rows }: SnapshotTable,
): Promise<void> {
  const table = `${quoted(schema)}.${quoted(name)}`;
  // A migration may have written first rows. Deleting none is refused for tables that are never deleted from.
  const { rows: first } = await client.query(`select from ${table} limit 1`);
  if (first.length > 0) await client.query(`delete from ${table}`);
  const into = client.query(copyFrom(`copy ${table} (${columns.map(quoted).join(', ')}) from stdin`));
  await pipeline(createReadStream(join(folder, file)), createGunzip(), into);
  if (into.rowCount !== rows)
    throw new SnapshotError(
      `${file} has ${into.rowCount} rows, and the manifest says ${rows}`,
      'Drop this database, which has no rows, and restore another backup into a new one.',
    );
}

/** The tables in an order in which every foreign key finds its row. */
async function byReference(client: Client, tables: readonly SnapshotTable[]): Promise<SnapshotTable[]> {
  const { rows } = await client.query<{ of: string; to: string }>(`
select cn.nspname || '.' || c.relname as of, tn.nspname || '.' || t.relname as to
from pg_constraint k
join pg_class c on c.oid = k.conrelid join pg_namespace cn on cn.oid = c.relnamespace
join pg_class t on t.oid = k.confrelid join pg_namespace tn on tn.oid = t.relnamespace
where k.contype = 'f' and k.conrelid <> k.confrelid`);
  const ordered: SnapshotTable[] = [];
  const waiting = new Map(tables.map((table) => [`${table.schema}.${table.name}`, table]));
  while (waiting.size > 0) {
    const ready = [...waiting].filter(([key]) => !rows.some(({ of, to }) => of === key && waiting.has(to)));
    if (ready.length === 0) throw new TypeError('the foreign keys of the tables form a cycle');
    for (const [key, table] of ready) {
      ordered.push(table);
      waiting.delete(key);
    }
  }
  return ordered;
}
