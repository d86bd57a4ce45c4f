import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** The addresses of a lower-case name in a hosts file (hosts(5)); none if the file cannot be read. */
export async function readHosts(file: string, name: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/);
    return isIP(address) !== 0 && names.includes(name) ? [address] : [];
  });
}
