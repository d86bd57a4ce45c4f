import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Phones of the load's payers. Logs mask the middle of a phone. */
const payerPhone = /(?<!\d)251(?:90|70)\d{7}(?!\d)/;
const maxLeaks = 50;

/** Looks for secrets and payers' phones in all logs below a folder, except those of the simulated wallets. */
export async function findLeaks(
  folder: string,
  secrets: readonly string[],
): Promise<{ readonly leaks: readonly string[]; readonly bytes: number }> {
  const leaks: string[] = [];
  let bytes = 0;
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const file of files) {
    const path = join(file.parentPath, file.name);
    if (!file.isFile() || file.name.startsWith('wallet-simulator')) continue;
    bytes += (await stat(path)).size;
    let number = 0;
    for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
      number += 1;
      const what = secrets.some((secret) => line.includes(secret))
        ? 'a secret'
        : payerPhone.test(line)
          ? 'the phone of a payer'
          : undefined;
      if (what !== undefined && leaks.length < maxLeaks)
        leaks.push(`line ${number} of ${file.name} contains ${what}`);
    }
  }
  return { leaks, bytes };
}
