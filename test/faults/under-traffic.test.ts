import { afterEach, expect, test } from '@jest/globals';
import { ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { sharedStack } from '../support/shared-stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startTraffic } from './merchant-traffic.ts';
import type { Traffic } from './merchant-traffic.ts';
import { withinTenSeconds } from './within-ten-seconds.ts';

/*
 * A core freezes, then a core stops, then a facade, and at last those that are left. Each test leaves fewer processes to the next one.
 */

const stack = sharedStack({
  ...{ ownProcesses: ['core', 'rest-facade', 'webhooks'], cores: 2, facades: 2, webhooks: 1 },
  settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' },
});
let frozen: GatehouseProcess | undefined;
let traffic: Traffic | undefined;

afterEach(async () => {
  frozen?.signal('SIGCONT');
  frozen = undefined;
  await traffic?.stop();
});

/** Merchants who use the first facade. */
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

test('a core that stops under traffic fails no request, and exits with code 0 within 10 s', async () => {
  const sent = await startMerchants(8);
  await untilMore(sent, 50);

  const exitCode = await withinTenSeconds('stopping', stack.cores[0]!.stop('SIGTERM'));
  await untilMore(sent, 50);
  await sent.stop();

  expect(exitCode).toBe(0);
  expect(sent.failures).toEqual([]);
  expect(sent.contradictions).toEqual([]);
  expect(await sent.findLost()).toEqual([]);
});

test('a facade that stops under traffic answers every accepted request, and exits with code 0 within 10 s', async () => {
  const [first, second] = stack.facades;
  // The ids of requests begin again with each traffic.
  const { length: earlier } = first!.process.log;
  const leaving = await startMerchants(8);
  await untilMore(leaving, 50);

  const exitCode = await withinTenSeconds('stopping', first!.process.stop('SIGTERM'));
  await waitUntil('its port is closed', () => leaving.failures.some(({ what }) => what === 'ECONNREFUSED'));
  leaving.moveTo(second!.sandbox);
  await leaving.stop();

  expect(exitCode).toBe(0);
  // A connection may be closed before its request is read, but a request that was read is answered.
  const broken = new Set(leaving.failures.map(({ requestId }) => requestId));
  const logged = first!.process.log.slice(earlier);
  expect(logged.filter((line) => broken.has(String(line['request_id'])))).toEqual([]);
  expect(leaving.failures.filter(({ status }) => status !== undefined)).toEqual([]);
  expect(leaving.contradictions).toEqual([]);
  expect(await leaving.findLost()).toEqual([]);
});

/** Each is a line of a few hundred bytes. Unread, they are more than any pipe or socket holds. */
const calls = 1_000;
const callers = 20;

async function keepBusy(call: () => Promise<unknown>): Promise<void> {
  const caller = async (): Promise<void> => {
    for (let made = 0; made < calls / callers; made += 1) await call();
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

// lifecycle.test.ts proves the same of a log whose reader goes away.
test('processes whose log is unread serve requests, and exit with code 0 within 10 s of SIGTERM', async () => {
  const { id } = await stack.createMerchant();
  const [core, facade, webhooks] = [stack.cores[1]!, stack.facades[1]!, stack.webhooks[0]!];
  const processes = [webhooks, facade.process, core];
  const apiKeys = stack.client(ApiKeyService, 'operator');
  const webhookService = stack.webhookClient('reader');
  for (const process of processes) process.leaveLogUnread();

  await keepBusy(() => fetch(`${facade.sandbox}/nothing/here`).then((answer) => answer.arrayBuffer()));
  await keepBusy(() => apiKeys.listApiKeys({ merchantId: id }));
  await keepBusy(() => webhookService.listEndpoints({ merchantId: id }));
  const exitCodes: (number | null)[] = [];
  for (const process of processes)
    exitCodes.push(await withinTenSeconds('stopping', process.stop('SIGTERM')));

  expect(exitCodes).toEqual([0, 0, 0]);
});
