import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';

/** The stored cursor. Empty if the file does not exist, which means: from the first event. */
export async function readCursor(file: string): Promise<string> {
  return existsSync(file) ? await readFile(file, 'utf8') : '';
}

/** Replaces the file atomically: after a crash it holds the old cursor or the new one. */
export async function writeCursor(file: string, cursor: string): Promise<void> {
  await writeFile(`${file}.new`, cursor);
  await rename(`${file}.new`, file);
}
