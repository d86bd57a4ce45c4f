import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';

/** The cursor kept in that file; empty, which means the very beginning, while there is none. */
export async function readCursor(file: string): Promise<string> {
  return existsSync(file) ? await readFile(file, 'utf8') : '';
}

/** The old cursor or the new one is there, whatever happens meanwhile. */
export async function writeCursor(file: string, cursor: string): Promise<void> {
  await writeFile(`${file}.new`, cursor);
  await rename(`${file}.new`, file);
}
