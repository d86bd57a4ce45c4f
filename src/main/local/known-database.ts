import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readIfThere, writePrivateFile } from './private-file.ts';
import { StartError } from './start-error.ts';

/** In the data folder: the server and name of the database elsewhere that the latest start has used, without its login. */
const file = 'external-database';

function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/**
 * Compares the database of this start, undefined for the one in the data folder, with that of the start before. Another database has other
 * orders. Returns what to warn of.
 * @throws StartError when this start would silently return to the data folder's own database
 */
export async function compareDatabase(
  dataFolder: string,
  url: string | undefined,
): Promise<string | undefined> {
  const path = join(dataFolder, file);
  const before = (await readIfThere(path))?.trim();
  if (url === undefined) {
    if (before === undefined) return undefined;
    throw new StartError(
      `Gatehouse has run with the database ${before} (see ${path}), and GATEHOUSE_DATABASE_URL is not set now.\n` +
        'Name that database: GATEHOUSE_DATABASE_URL=postgres://… npm start\n' +
        `If its orders are no longer needed, and Gatehouse is to use a database in ${dataFolder}, remove the file first: rm ${path}`,
    );
  }
  const place = placeOf(url);
  if (before !== undefined)
    return before === place
      ? undefined
      : `the previous start used the database ${before}; this start uses ${place}, which has other orders unless it is a copy`;
  // The second names a folder elsewhere.
  const hasOwn = ['postgres', 'postgres.path'].some((name) => existsSync(join(dataFolder, name)));
  return hasOwn
    ? `earlier starts used the database in ${dataFolder}; this start uses ${place}, which has other orders unless it is a copy`
    : undefined;
}

/**
 * Refuses a start whose URL names the data folder's own database. `gatehouse backup` needs this URL, so it may still be set. Such a start
 * would wait for the database for ever, because it starts no database of its own.
 * @throws StartError when both URLs name the same database with the same password
 */
export function refuseOwnDatabase(dataFolder: string, url: string, ownUrl: string): void {
  const [given, own] = [url, ownUrl].map((each) => {
    const { hostname, port, password } = new URL(each);
    return `${hostname === 'localhost' ? '127.0.0.1' : hostname}:${port} ${decodeURIComponent(password)}`;
  });
  if (given === own)
    throw new StartError(
      `GATEHOUSE_DATABASE_URL names the database in ${dataFolder}, which runs only if this setting is not set.\n` +
        'Remove it, and start Gatehouse again: unset GATEHOUSE_DATABASE_URL',
    );
}

/** Records the database of a start that has succeeded. */
export async function rememberDatabase(dataFolder: string, url: string | undefined): Promise<void> {
  if (url !== undefined) await writePrivateFile(join(dataFolder, file), `${placeOf(url)}\n`);
}
