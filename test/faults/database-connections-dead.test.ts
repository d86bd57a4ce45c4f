import { afterEach, expect, test } from '@jest/globals';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { createTestDatabase } from '../support/test-database.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openNetworkLink } from '../../src/main/prove/network-link.ts';
import type { NetworkLink } from '../../src/main/prove/network-link.ts';
import { startTraffic } from './merchant-traffic.ts';

let database: TestDatabase | undefined;
let proxy: NetworkLink | undefined;
let stack: Stack | undefined;

afterEach(async () => {
  await stack?.stop();
  await proxy?.close();
  await database?.drop();
});

/** The number of times that one of its cores began to relay events. */
const relaying = (running: Stack | undefined): number =>
  running?.cores.flatMap(({ log }) => log.filter(({ msg }) => msg === 'relaying events')).length ?? 0;

test('core replaces database connections that broke without notice', async () => {
  database = await createTestDatabase();
  const url = new URL(database.url);
  proxy = await openNetworkLink({ host: url.hostname, port: Number(url.port) });
  url.port = String(proxy.port);
  stack = await startStack({
    cores: 1,
    facades: 1,
    settings: { GATEHOUSE_DATABASE_URL: url.href, GATEHOUSE_RATE_LIMIT_PER_KEY: '0' },
  });
  const { testKey } = await stack.createMerchant();
  const traffic = startTraffic({ baseUrl: stack.facades[0]?.sandbox ?? '', apiKey: testKey, clients: 8 });
  await waitUntil('orders are acknowledged', () => traffic.acknowledged.length > 50);

  proxy.goDark();
  await waitUntil('requests fail', () => traffic.failures.length > 0);
  proxy.heal();
  const before = traffic.acknowledged.length;
  await waitUntil('orders are acknowledged again', () => traffic.acknowledged.length > before + 50);
  await traffic.stop();
  await waitUntil('events are relayed again', () => relaying(stack) === 2);

  expect(traffic.contradictions).toEqual([]);
  expect(await traffic.findLost()).toEqual([]);
});
