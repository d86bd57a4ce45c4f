import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

/** One table of a snapshot: a file with the rows of PostgreSQL's COPY in text form, compressed by gzip. */
const SnapshotTable = Type.Object({
  schema: Type.String(),
  name: Type.String(),
  columns: Type.Array(Type.String()),
  rows: Type.Integer({ minimum: 0 }),
  file: Type.String({ pattern: '^[a-z0-9_.]+$' }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});
export type SnapshotTable = Static<typeof SnapshotTable>;

/** What a snapshot contains. It is written last, so a folder without it is not a complete snapshot. */
const Manifest = Type.Object({
  format: Type.Literal(1),
  /** When the snapshot was taken, by the database's clock. All schemas of one database have one snapshot. */
  taken_at: Type.String(),
  server_version: Type.String(),
  schemas: Type.Array(
    Type.Object({
      name: Type.String(),
      /** The migrations that made the schema, oldest first. */
      migrations: Type.Array(Type.String()),
      sequences: Type.Array(
        Type.Object({ name: Type.String(), last_value: Type.Union([Type.String(), Type.Null()]) }),
      ),
      partitions: Type.Array(
        Type.Object({ name: Type.String(), parent: Type.String(), bound: Type.String() }),
      ),
    }),
  ),
  tables: Type.Array(SnapshotTable),
});
export type Manifest = Static<typeof Manifest>;

export const manifestFile = 'manifest.json';

/** The folder has no usable snapshot. The message says why, for the operator. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

/** @throws SnapshotError when the folder has no complete snapshot of a form that this version knows */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, manifestFile), 'utf8').catch(() => {
    throw new SnapshotError(
      `${folder} has no ${manifestFile}: it is not a backup, or the backup did not finish`,
    );
  });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new SnapshotError(`${manifestFile} is not JSON`);
  }
  if (!Value.Check(Manifest, content)) throw new SnapshotError(`${manifestFile} is not one of this version`);
  return content;
}

/** Compares every file with its checksum. @throws SnapshotError for the first that is missing or differs */
export async function verifySnapshot(folder: string): Promise<Manifest> {
  const manifest = await readManifest(folder);
  for (const { file, sha256 } of manifest.tables) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(folder, file)), hash).catch((error: unknown) => {
      const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
      throw new SnapshotError(`${file} cannot be read (${why})`);
    });
    if (hash.digest('hex') !== sha256)
      throw new SnapshotError(`${file} was changed or damaged: its checksum differs`);
  }
  return manifest;
}

/** A quoted SQL name. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
