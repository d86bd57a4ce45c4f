import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parseJson } from '../../parse-json.ts';

/** How the name of a table's file ends. */
export const tableFileEnding = '.copy.gz';

/** One table of a snapshot: a file with the rows of PostgreSQL's COPY in text form, compressed by gzip. */
const SnapshotTable = Type.Object({
  schema: Type.String(),
  name: Type.String(),
  columns: Type.Array(Type.String()),
  rows: Type.Integer({ minimum: 0 }),
  file: Type.String({ pattern: '^[a-z0-9_.]+$' }),
  /** The size of the file. */
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});
export type SnapshotTable = Static<typeof SnapshotTable>;

/** The contents of a snapshot. It is written last, so a folder without it is not a complete snapshot. */
const Manifest = Type.Object({
  format: Type.Literal(1),
  /** When the snapshot was taken, by the database's clock. All schemas of one database have one snapshot. */
  taken_at: Type.String(),
  server_version: Type.String(),
  /** How many databases the schemas came from. */
  databases: Type.Integer({ minimum: 1 }),
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

/** The form of the manifest that this version writes and reads. */
const format = 1;
export const manifestFile = 'manifest.json';

/** The folder or the database cannot be used. The message says why, and the advice what the operator can do. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
  /** One action per line. */
  readonly advice: string;
  /** Whether the database does not answer. */
  readonly isUnreachable: boolean;

  constructor(message: string, advice: string, isUnreachable = false) {
    super(message);
    this.advice = advice;
    this.isUnreachable = isUnreachable;
  }
}

const copyAgain =
  'Copy the folder again from where the backup was written. If the files there are damaged too, use another backup.';
const copyOrUseAnother = 'If this is a copy, copy the folder again. Otherwise use another backup.';

/** The manifest as a file. Its last field is the checksum of the rest. */
export function writtenManifest(manifest: Manifest): string {
  return `${JSON.stringify({ ...manifest, checksum: checksumOf(manifest) }, undefined, 2)}\n`;
}

const checksumOf = (manifest: object): string =>
  createHash('sha256').update(JSON.stringify(manifest)).digest('hex');

/** @throws SnapshotError when the folder has no complete and undamaged manifest of a form that this version knows */
async function readManifest(folder: string): Promise<Manifest> {
  const content = parseContent(await readText(folder));
  const { checksum, ...manifest } = content;
  if (checksum !== checksumOf(manifest))
    throw new SnapshotError(`${manifestFile} was changed or damaged: its checksum differs`, copyAgain);
  if (typeof manifest['format'] === 'number' && manifest['format'] !== format)
    throw new SnapshotError(
      `the backup has the format ${manifest['format']}, and this version reads only format ${format}`,
      'Use the version of Gatehouse that wrote the backup, or a newer one.',
    );
  if (!Value.Check(Manifest, manifest))
    throw new SnapshotError(`${manifestFile} was changed or damaged: it has no complete content`, copyAgain);
  return manifest;
}

async function readText(folder: string): Promise<string> {
  if (!(await stat(folder).catch(() => undefined))?.isDirectory())
    throw new SnapshotError(`there is no folder ${folder}`, 'Check the path of the backup.');
  try {
    return await readFile(join(folder, manifestFile), 'utf8');
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      throw new SnapshotError(`${manifestFile} cannot be read (${codeOf(error)})`, canRead);
    // Somebody who names the folder above must not be told that the backups in it are of no use.
    if (!(await readdir(folder).catch(() => [])).some((name) => name.endsWith(tableFileEnding)))
      throw new SnapshotError(
        `${folder} is not a backup: it has no ${manifestFile}`,
        'Check the path of the backup.',
      );
    throw new SnapshotError(
      `${folder} has no ${manifestFile}: the backup did not finish, or was not copied completely`,
      copyOrUseAnother,
    );
  }
}

function parseContent(text: string): Readonly<Record<string, unknown>> {
  const content = parseJson(text);
  if (typeof content === 'object' && content !== null) return { ...content };
  throw new SnapshotError(`${manifestFile} was changed or damaged: it is not JSON`, copyAgain);
}

/** Compares every file with its size and checksum. @throws SnapshotError for the first that is missing or differs */
export async function verifySnapshot(folder: string): Promise<Manifest> {
  const manifest = await readManifest(folder);
  for (const table of manifest.tables) await verifyFile(folder, table);
  return manifest;
}

async function verifyFile(folder: string, { file, bytes, sha256 }: SnapshotTable): Promise<void> {
  const hash = createHash('sha256');
  let found = 0;
  const content = createReadStream(join(folder, file));
  content.on('data', (chunk) => (found += chunk.length));
  await pipeline(content, hash).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') throw new SnapshotError(`${file} is missing`, copyAgain);
    throw new SnapshotError(`${file} cannot be read (${codeOf(error)})`, canRead);
  });
  if (found !== bytes)
    throw new SnapshotError(`${file} was cut off or changed: it has ${found} of ${bytes} bytes`, copyAgain);
  if (hash.digest('hex') !== sha256)
    throw new SnapshotError(`${file} was changed or damaged: its checksum differs`, copyAgain);
}

const canRead = 'Check the disk, and that your user may read the files.';

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';

/** A quoted SQL name. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
