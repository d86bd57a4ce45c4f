import { afterEach, expect, test } from '@jest/globals';
import { startProcess } from '../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startTraffic } from './merchant-traffic.ts';
import type { Traffic } from './merchant-traffic.ts';

let stack: Stack | undefined;
const others: GatehouseProcess[] = [];

afterEach(async () => {
  await Promise.all(others.splice(0).map((other) => other.stop()));
  await stack?.stop();
});

const clients = 8;

const untilMore = (traffic: Traffic, count: number): Promise<boolean> => {
  const wanted = traffic.acknowledged.length + count;
  return waitUntil(`${count} more orders are acknowledged`, () => traffic.acknowledged.length >= wanted);
};

/** A core where the killed one was, as a supervisor starts it. */
async function startInPlaceOf(address: string | undefined, settings: Stack['coreSettings']) {
  const port = address?.split(':').at(-1) ?? '';
  const core = await startProcess('core', { ...settings, GATEHOUSE_CORE_GRPC_PORT: port });
  others.push(core);
  return core;
}

const served = ({ log }: GatehouseProcess): boolean =>
  log.some(({ rpc }) => rpc === 'OrderService/BatchRegisterOrders');

test('no acknowledged order is lost when two cores are killed and replaced one after the other', async () => {
  stack = await startStack({
    ownProcesses: ['core'],
    cores: 2,
    facades: 1,
    settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' },
  });
  const { testKey } = await stack.createMerchant();
  const traffic = startTraffic({ baseUrl: stack.facades[0]?.sandbox ?? '', apiKey: testKey, clients });
  await untilMore(traffic, 40);

  for (const index of [0, 1]) {
    // A frozen core keeps its requests, so it is killed while every client waits for an answer.
    stack.cores[index]?.signal('SIGSTOP');
    await waitUntil('every client waits', () => traffic.open() === clients);
    await stack.cores[index]?.stop('SIGKILL');
    await untilMore(traffic, 40);
    const replacement = await startInPlaceOf(stack.addresses[index], stack.coreSettings);
    await waitUntil('the facade uses the new core', () => served(replacement));
    await untilMore(traffic, 40);
  }
  await traffic.stop();

  expect(traffic.contradictions).toEqual([]);
  expect(await traffic.findLost()).toEqual([]);
  // The facade repeats the requests of a killed core on the other one, so hardly any of them fails.
  expect(traffic.failures.length / traffic.requests()).toBeLessThan(0.01);
  for (const { status, what } of traffic.failures)
    expect({ status, what }).toEqual({ status: 500, what: '{"code":500,"message":"Internal server error"}' });
});
