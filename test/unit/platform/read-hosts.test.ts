import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { readHosts } from '../../../src/platform/read-hosts.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-hosts-'));
const file = join(folder, 'hosts');
afterAll(() => rmSync(folder, { recursive: true }));

test('the names of a hosts file are found, with all their addresses, and a change counts at once', async () => {
  const find = (name: string) => readHosts(file, name);
  expect(await find('shop.example')).toEqual([]);
  writeFileSync(
    file,
    '192.0.2.1 Shop.example shop.example # own\n\t2001:db8::1  mail shop.example#\n1.2 bad\n# 192.0.2.9 off\n',
  );
  expect(await find('shop.example')).toEqual(['192.0.2.1', '2001:db8::1']);
  expect(await find('mail')).toEqual(['2001:db8::1']);
  for (const name of ['bad', 'off', '#', '', '192.0.2.1', '__proto__']) expect(await find(name)).toEqual([]);

  writeFileSync(file, '192.0.2.2 shop.example\n');
  expect(await find('shop.example')).toEqual(['192.0.2.2']);
  rmSync(file);
  expect(await find('shop.example')).toEqual([]);
});

test('a long file is parsed once, because merchants choose how often names are looked up', async () => {
  writeFileSync(file, '192.0.2.1 shop.example www.shop.example\n'.repeat(20_000));
  const cpuOf = async (lookups: number): Promise<number> => {
    const before = process.cpuUsage();
    for (let count = 0; count < lookups; count += 1) await readHosts(file, 'unknown.example');
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const first = await cpuOf(1);

  expect(await cpuOf(20)).toBeLessThan(5 * first);
});
