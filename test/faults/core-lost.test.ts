import { afterEach, expect, test } from '@jest/globals';
import { startProcess } from '../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { sharedStack } from '../support/shared-stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startTraffic } from './merchant-traffic.ts';
import type { Traffic } from './merchant-traffic.ts';

const stack = sharedStack({
  ownProcesses: ['core'],
  cores: 2,
  facades: 1,
  settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' },
});
let frozen: GatehouseProcess | undefined;
let traffic: Traffic | undefined;
const replacements: GatehouseProcess[] = [];

afterEach(async () => {
  frozen?.signal('SIGCONT');
  await traffic?.stop();
  await Promise.all(replacements.splice(0).map((core) => core.stop()));
});

async function startMerchants(clients: number): Promise<Traffic> {
  const { testKey } = await stack.createMerchant();
  traffic = startTraffic({ baseUrl: stack.facades[0]?.sandbox ?? '', apiKey: testKey, clients });
  return traffic;
}

/** The number of batches of registrations that a core has answered. */
const registrations = ({ log }: GatehouseProcess): number =>
  log.filter(({ rpc, code }) => rpc === 'OrderService/BatchRegisterOrders' && code === 'ok').length;

const relays = ({ log }: GatehouseProcess): boolean => log.some(({ msg }) => msg === 'relaying events');

const untilMore = ({ acknowledged }: Traffic, count: number): Promise<boolean> => {
  const wanted = acknowledged.length + count;
  return waitUntil(`${count} more orders are acknowledged`, () => acknowledged.length >= wanted);
};

/** A core at the address of the killed one, as a supervisor starts it. */
async function startInPlaceOf(address: string | undefined): Promise<GatehouseProcess> {
  const port = address?.split(':').at(-1) ?? '';
  const core = await startProcess('core', { ...stack.coreSettings, GATEHOUSE_CORE_GRPC_PORT: port });
  replacements.push(core);
  return core;
}

test('another core takes over the calls and the relay of a frozen core, which is used again when it continues', async () => {
  const hanging = await waitUntil('one core relays', () => stack.cores.find(relays));
  const other = await waitUntil('the other does not', () => stack.cores.find((core) => core !== hanging));
  const sent = await startMerchants(4);
  await waitUntil('both are used', () => stack.cores.every((core) => registrations(core) > 10));

  frozen = hanging;
  hanging.signal('SIGSTOP');
  await waitUntil('the other relays', () => relays(other));
  await untilMore(sent, 40);
  hanging.signal('SIGCONT');
  const registeredBefore = registrations(hanging);
  await waitUntil('it is used again', () => registrations(hanging) > registeredBefore + 10);
  await sent.stop();

  expect(sent.contradictions).toEqual([]);
  expect(await sent.findLost()).toEqual([]);
});

test('no acknowledged order is lost when two cores are killed and replaced one after the other', async () => {
  const clients = 8;
  const sent = await startMerchants(clients);
  await untilMore(sent, 40);

  for (const index of [0, 1]) {
    // A frozen core keeps its requests, so it is killed while every client waits for an answer.
    stack.cores[index]?.signal('SIGSTOP');
    await waitUntil('every client waits', () => sent.open() === clients);
    await stack.cores[index]?.stop('SIGKILL');
    await untilMore(sent, 40);
    const replacement = await startInPlaceOf(stack.addresses[index]);
    await waitUntil('the facade uses the new core', () => registrations(replacement) > 0);
    await untilMore(sent, 40);
  }
  await sent.stop();

  expect(sent.contradictions).toEqual([]);
  expect(await sent.findLost()).toEqual([]);
  // The facade repeats the requests of a killed core on the other one, so hardly any of them fails.
  expect(sent.failures.length / sent.requests()).toBeLessThan(0.01);
  for (const { status, what } of sent.failures)
    expect({ status, what }).toEqual({ status: 500, what: '{"code":500,"message":"Internal server error"}' });
});
