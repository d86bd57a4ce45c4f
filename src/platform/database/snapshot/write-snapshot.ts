import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { withSnapshotClient } from './connect-snapshot.ts';
import type { SnapshotDatabase } from './connect-snapshot.ts';
import { SnapshotError, manifestFile, quoted, tableFileEnding, writtenManifest } from './manifest.ts';
import type { Manifest, SnapshotTable } from './manifest.ts';

export interface SnapshotSource extends SnapshotDatabase {
  readonly schemas: readonly string[];
}

/**
 * Writes all rows of the schemas into an empty folder, as one snapshot of each database. The database goes on meanwhile. The
 * manifest is written last, after all files are on the disk.
 */
export async function writeSnapshot(
  sources: readonly SnapshotSource[],
  folder: string,
  report: (table: SnapshotTable) => void = () => undefined,
): Promise<Manifest> {
  const parts: Omit<Manifest, 'databases'>[] = [];
  for (const source of sources) parts.push(await writeSource(source, folder, report));
  const [first] = parts;
  if (first === undefined) throw new TypeError('a snapshot needs a database');
  const manifest: Manifest = {
    ...first,
    databases: sources.length,
    // Changes after the earliest snapshot may be missing in one of the databases.
    taken_at: parts.map(({ taken_at: at }) => at).toSorted()[0] ?? first.taken_at,
    schemas: parts.flatMap(({ schemas }) => schemas),
    tables: parts.flatMap(({ tables }) => tables),
  };
  const part = join(folder, `${manifestFile}.part`);
  await writeFile(part, writtenManifest(manifest), { mode: 0o600 });
  await syncToDisk(part);
  await rename(part, join(folder, manifestFile));
  await syncToDisk(folder);
  return manifest;
}

const writeSource = (
  { schemas, ...database }: SnapshotSource,
  folder: string,
  report: (table: SnapshotTable) => void,
): Promise<Omit<Manifest, 'databases'>> =>
  withSnapshotClient(database, 'gatehouse-backup', async (client) => {
    await client.query('begin transaction isolation level repeatable read read only');
    const { rows: facts } = await client.query<{ taken_at: Date; version: string }>(
      "select now() as taken_at, current_setting('server_version') as version",
    );
    await requireMigrated(client, schemas);
    const tables: SnapshotTable[] = [];
    for (const { schema, name, columns } of await readTables(client, schemas)) {
      const file = `${schema}.${name}${tableFileEnding}`;
      const written = await writeTable(client, join(folder, file), { schema, name, columns });
      const table = { schema, name, columns, file, ...written };
      tables.push(table);
      report(table);
    }
    const described = await Promise.all(schemas.map((schema) => describeSchema(client, schema)));
    await client.query('commit');
    return {
      format: 1,
      taken_at: (facts[0]?.taken_at ?? new Date(NaN)).toISOString(),
      server_version: facts[0]?.version ?? '',
      schemas: described,
      tables,
    };
  });

async function requireMigrated(client: Client, schemas: readonly string[]): Promise<void> {
  for (const schema of schemas) {
    const { rows } = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
      `${quoted(schema)}.migrations`,
    ]);
    if (rows[0]?.found !== true)
      throw new SnapshotError(
        `the database has no tables of ${schema}`,
        'Check the address of the database. If webhooks has another database, add --webhooks-database-url.',
      );
  }
}

interface Columns {
  readonly schema: string;
  readonly name: string;
  readonly columns: string[];
}

/** Tables, and partitioned tables as a whole. */
async function readTables(client: Client, schemas: readonly string[]): Promise<Columns[]> {
  const { rows } = await client.query<Columns>(
    `
select n.nspname as schema, c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
where n.nspname = any ($1) and c.relkind in ('r', 'p') and not c.relispartition
group by n.nspname, c.relname order by n.nspname, c.relname`,
    [schemas],
  );
  return rows;
}

async function writeTable(
  client: Client,
  path: string,
  { schema, name, columns }: Columns,
): Promise<{ rows: number; bytes: number; sha256: string }> {
  const list = columns.map(quoted).join(', ');
  const rows = client.query(copyTo(`copy (select ${list} from ${quoted(schema)}.${quoted(name)}) to stdout`));
  const hash = createHash('sha256');
  let bytes = 0;
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  await pipeline(
    rows,
    createGzip({ level: 1 }),
    hashing,
    createWriteStream(path, { mode: 0o600, flags: 'wx' }),
  );
  await syncToDisk(path);
  // The number of rows follows the rows, and may come in a later packet. The driver has read it before it sends another statement.
  await client.query('select');
  return { rows: rows.rowCount, bytes, sha256: hash.digest('hex') };
}

async function describeSchema(client: Client, schema: string): Promise<Manifest['schemas'][number]> {
  const migrations = await client.query<{ name: string }>(
    `select name from ${quoted(schema)}.migrations order by id`,
  );
  const sequences = await client.query<{ name: string; last_value: string | null }>(
    'select sequencename as name, last_value::text as last_value from pg_sequences where schemaname = $1 order by 1',
    [schema],
  );
  const partitions = await client.query<{ name: string; parent: string; bound: string }>(
    `
select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bound
from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1 and c.relkind = 'r' order by 1`,
    [schema],
  );
  return {
    name: schema,
    migrations: migrations.rows.map(({ name }) => name),
    sequences: sequences.rows,
    partitions: partitions.rows,
  };
}

async function syncToDisk(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
