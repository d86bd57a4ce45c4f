import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';

type Names = ReadonlyMap<string, readonly string[]>;

/** The names of each file, because the parsing of a long file takes many milliseconds, and merchants choose how often names are looked up. */
const parsed = new Map<string, { readonly version: string; readonly names: Names }>();

/** The addresses of a lower-case name in a hosts file (hosts(5)) as it is now; none if the file cannot be read. */
export async function readHosts(file: string, name: string): Promise<readonly string[]> {
  return (await namesOf(file).catch(() => undefined))?.get(name) ?? [];
}

async function namesOf(file: string): Promise<Names> {
  const { ino, size, mtimeMs, ctimeMs } = await stat(file);
  const version = `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  const last = parsed.get(file);
  if (last?.version === version) return last.names;
  const names = parseHosts(await readFile(file, 'utf8'));
  parsed.set(file, { version, names });
  return names;
}

function parseHosts(text: string): Names {
  const found = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of new Set(names)) {
      const own = found.get(name);
      if (own === undefined) found.set(name, [address]);
      else own.push(address);
    }
  }
  return found;
}
