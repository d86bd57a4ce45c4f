import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { createResolve } from '../../../src/platform/resolve-name.ts';
import { asksSystem, createSharedLookup } from '../../../src/wallets/connector/shared-lookup.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';
import { startNameServer } from '../webhooks/name-server.ts';

const closing = closersOfEachTest();

const hosts = `
192.0.2.1 hosts.example Alias.example # comment.example
2001:db8::1 hosts.example
`;

/** Looks up at a real name server. The system knows each name as 192.0.2.9. */
async function start() {
  const asked: string[] = [];
  const askedSystem: string[] = [];
  const { resolver, close } = await startNameServer(({ name, type, reply }) => {
    if (type === 'A') asked.push(name);
    if (name.startsWith('silent')) return undefined;
    if (name === 'failing.example') return reply([], 'SERVFAIL');
    if (name !== 'found.example') return reply([], 'NXDOMAIN');
    return reply(type === 'A' ? [{ type, data: [192, 0, 2, 2] }] : []);
  }, 500);
  closing.push(close);
  const lookUp = async (name: string): Promise<readonly string[]> => {
    askedSystem.push(name);
    return ['192.0.2.9'];
  };
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-hosts-'));
  closing.push(() => rmSync(folder, { recursive: true }));
  const hostsFile = join(folder, 'hosts');
  writeFileSync(hostsFile, hosts);
  const resolve = createResolve({ currentResolver: () => resolver, lookUp, asksSystem });
  const lookup = promisify(createSharedLookup(resolve, hostsFile));
  return { lookup, asked, askedSystem };
}

test.each([
  ['of the hosts file', 'hosts.example', ['192.0.2.1', '2001:db8::1'], []],
  ['of the hosts file in other letters and with a final dot', 'ALIAS.example.', ['192.0.2.1'], []],
  ['that the name servers know', 'found.example', ['192.0.2.2'], ['found.example']],
  ['in a comment of the hosts file', 'comment.example', ['192.0.2.9'], ['comment.example']],
  ['at which the name servers fail', 'failing.example', ['192.0.2.9'], ['failing.example']],
])('a name %s has its addresses', async (_what, name, addresses, questions) => {
  const { lookup, asked } = await start();

  const found = await lookup(name, { all: true });

  expect(found).toEqual(addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  expect(asked).toEqual(questions);
});

test('silent name servers of many wallets delay no other name, and the system is not asked', async () => {
  const { lookup, asked, askedSystem } = await start();
  const names = Array.from({ length: 8 }, (_, number) => `silent-${number}.example`);
  const silent = Promise.allSettled([...names, ...names].map((name) => lookup(name, {})));

  expect(await lookup('found.example', {})).toBe('192.0.2.2');

  for (const result of await silent)
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'ETIMEOUT' } });
  expect(asked.filter((name) => name !== 'found.example').sort()).toEqual(names);
  expect(askedSystem).toEqual([]);
});
