import { afterEach, expect, test } from '@jest/globals';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startTraffic } from './merchant-traffic.ts';

let stack: Stack | undefined;
let frozen: GatehouseProcess | undefined;

afterEach(async () => {
  frozen?.signal('SIGCONT');
  await stack?.stop();
});

const relays = ({ log }: GatehouseProcess): boolean => log.some(({ msg }) => msg === 'relaying events');

const registrations = ({ log }: GatehouseProcess): number =>
  log.filter(({ rpc, code }) => rpc === 'OrderService/BatchRegisterOrders' && code === 'ok').length;

test('another core takes over the calls and the relay of a frozen core, which is used again when it continues', async () => {
  const running = await startStack({
    ownProcesses: ['core'],
    cores: 2,
    facades: 1,
    settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' },
  });
  stack = running;
  const { testKey } = await running.createMerchant();
  const hanging = await waitUntil('one core relays', () => running.cores.find(relays));
  const other = await waitUntil('the other does not', () => running.cores.find((core) => core !== hanging));
  const traffic = startTraffic({
    baseUrl: running.facades[0]?.sandbox ?? '',
    apiKey: testKey,
    clients: 4,
  });
  await waitUntil('both are used', () => running.cores.every((core) => registrations(core) > 10));

  frozen = hanging;
  hanging.signal('SIGSTOP');
  await waitUntil('the other relays', () => relays(other));
  const before = traffic.acknowledged.length;
  await waitUntil('orders are acknowledged', () => traffic.acknowledged.length > before + 100);
  hanging.signal('SIGCONT');
  const registeredBefore = registrations(hanging);
  await waitUntil('it is used again', () => registrations(hanging) > registeredBefore + 10);
  await traffic.stop();

  expect(traffic.contradictions).toEqual([]);
  expect(await traffic.findLost()).toEqual([]);
});
