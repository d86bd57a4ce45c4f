import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { ConnectError } from '@connectrpc/connect';
import type { CallOptions, Client } from '@connectrpc/connect';
import { afterEach, expect, test } from '@jest/globals';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.js';
import { reasonOf } from '../../src/platform/rpc/rpc-error.ts';
import { holdOrders } from '../support/hold-orders.ts';
import type { HeldOrders } from '../support/hold-orders.ts';
import { directPayment, registration } from '../support/order-requests.ts';
import { waitUntil } from '../support/wait-until.ts';
import { sharedStack } from '../support/shared-stack.ts';

/** One core and one facade for all tests: what one of them leaves behind would be found by the next. */
const settings = { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' };
const stack = sharedStack({ ownProcesses: true, cores: 1, facades: 1, settings });
let held: HeldOrders | undefined;

async function letGo(): Promise<void> {
  await held?.letGo();
  held = undefined;
}

afterEach(letGo);

async function residentMegabytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

async function heapMegabytes(): Promise<number> {
  const page = await (await fetch(`${stack.connectUrl}/metrics`)).text();
  return Number(/^nodejs_heap_size_used_bytes ([0-9.e+]+)/m.exec(page)?.[1]) / 2 ** 20;
}

interface Kind {
  readonly name: string;
  readonly holds: 'inserts' | 'reads';
  readonly path: string;
  readonly call: (
    orders: Client<typeof OrderService>,
    merchantId: string,
    orderNumber: string,
    options: CallOptions,
  ) => Promise<unknown>;
}

const kinds: Kind[] = [
  {
    name: 'registrations',
    holds: 'inserts',
    path: '/api/v1/register',
    call: (orders, merchantId, orderNumber, options) =>
      orders.registerOrder(registration({ merchantId, orderNumber }), options),
  },
  {
    name: 'direct payments',
    holds: 'inserts',
    path: '/api/v1/direct?payment_option=walleta_ussd',
    call: (orders, merchantId, orderNumber, options) =>
      orders.startDirectPayment(directPayment({ merchantId, orderNumber }), options),
  },
  {
    name: 'status checks',
    holds: 'reads',
    path: '/api/v1/verify',
    call: (orders, merchantId, value, options) =>
      orders.getOrder(
        { merchantId, environment: Environment.SANDBOX, key: { case: 'orderNumber', value } },
        options,
      ),
  },
];

const body = (orderNumber: string) => ({
  order_number: orderNumber,
  amount: '10.00',
  currency: 'ETB',
  reason: 'A test',
  customer_phone: '0911223344',
  phone: '0911223344',
  return_url: 'https://shop.example/return',
});

/** A shop, over REST and, as many at a time as a facade has, over gRPC. */
async function openShop({ path, call }: Pick<Kind, 'path' | 'call'>) {
  const { id: merchantId, testKey } = await stack.createMerchant();
  const orders = stack.client(OrderService, 'writer');
  const sandbox = stack.facades[0]?.sandbox ?? '';
  const post = (where: string, orderNumber: string) =>
    fetch(`${sandbox}${where}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', apiKey: testKey },
      body: JSON.stringify(body(orderNumber)),
    });
  return {
    register: (orderNumber: string) => post('/api/v1/register', orderNumber),
    overRest: (orderNumber: string) => post(path, orderNumber),
    headersOnly: () => answerToHeaders(new URL(sandbox), testKey),
    overGrpc: (orderNumber: string) => call(orders, merchantId, orderNumber, { timeoutMs: 60_000 }),
  };
}

/** What is answered to a registration whose body does not come; nothing when it is waited for. */
async function answerToHeaders({ hostname, port }: URL, apiKey: string): Promise<string> {
  const socket = connect(Number(port), hostname);
  socket.setTimeout(2_000, () => socket.end());
  try {
    socket.write(
      `POST /api/v1/register HTTP/1.1\r\nHost: shop\r\napiKey: ${apiKey}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 200\r\n\r\n',
    );
    let text = '';
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.includes('\r\n\r\n')) return text;
    }
    return text;
  } finally {
    socket.destroy();
  }
}

const reasonGiven = (error: unknown): string =>
  (error instanceof ConnectError ? reasonOf(error) : undefined) ?? String(error);

test.each(kinds)(
  '$name beyond what may wait are refused at once with 429, the others are answered, and memory stays flat',
  async (kind) => {
    const { register, overRest, overGrpc } = await openShop(kind);
    const [core] = stack.cores;
    expect((await register('THERE')).status).toBe(201);
    const numberOf = (index: number): string => (kind.holds === 'reads' ? 'THERE' : `G-${index}`);
    const megabytesBefore = await residentMegabytes(core?.pid);

    held = await holdOrders(stack.databaseUrl, kind.holds);
    const refusals: unknown[] = [];
    const calls = Array.from({ length: 5_000 }, (_, index) =>
      overGrpc(numberOf(index)).then(
        () => 'answered',
        (error: unknown) => {
          refusals.push(error);
          return reasonGiven(error);
        },
      ),
    );
    // What is not refused waits, or is in one of the statements that run: a refusal has nothing to queue behind then.
    await waitUntil('all that are too many are refused', () => refusals.length >= 1_500);
    const refused = await overRest(kind.holds === 'reads' ? 'THERE' : 'REFUSED');
    await letGo();
    const outcomes = await Promise.all(calls);

    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({ code: 429, message: 'Too many requests' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(new Set(outcomes)).toEqual(new Set(['OVERLOADED', 'answered']));
    const [one] = refusals;
    expect(one instanceof ConnectError && one.findDetails(RetryInfoSchema)).toHaveLength(1);
    expect((await register('AFTER')).status).toBe(201);
    expect(await residentMegabytes(core?.pid)).toBeLessThan(megabytesBefore + 400);
  },
);

test('a facade in which as many wait as may wait refuses before it has read a body, and then goes on', async () => {
  const { register, headersOnly } = await openShop({
    path: '/api/v1/register',
    call: () => Promise.resolve(),
  });
  held = await holdOrders(stack.databaseUrl, 'inserts');
  // 1,000 wait, behind eight batches of up to 250 that are on their way to core; whoever is answered asks again.
  let isOver = false;
  const customers = Array.from({ length: 3_400 }, async (_, customer) => {
    for (let count = 0; !isOver; count += 1) await register(`F-${customer}-${count}`);
  });

  const answer = await waitUntil('the facade is full', async () => {
    const text = await headersOnly();
    return text.startsWith('HTTP/1.1 429 ') ? text : undefined;
  });

  expect(answer).toMatch(/^retry-after: 1\r$/im);
  await letGo();
  isOver = true;
  await Promise.all(customers);
  expect((await register('AFTER')).status).toBe(201);
});

test('wave after wave of more than may wait leaves the heap of core where the first ones left it', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const orders = stack.client(OrderService, 'writer');
  /** In batches of 500, as facades send them: 3,500 can wait or be written, the others hear that they cannot. */
  const wave = async (name: number): Promise<number> => {
    held = await holdOrders(stack.databaseUrl, 'inserts');
    const batches = Array.from({ length: 12 }, (_, batch) =>
      orders.batchRegisterOrders({
        requests: Array.from({ length: 500 }, (_, index) =>
          registration({ merchantId, orderNumber: `W-${name}-${batch}-${index}` }),
        ),
      }),
    );
    // Nothing but refusals, which is the only way to be answered now.
    await Promise.any(batches);
    await letGo();
    const results = (await Promise.all(batches)).flatMap((batch) => batch.results);
    return results.filter(({ result }) => result.case === 'error').length;
  };

  /** After each of some waves, the least: what is left when garbage has been collected. */
  const least = async (names: readonly number[]): Promise<{ megabytes: number; refused: number }> => {
    const seen: { megabytes: number; refused: number }[] = [];
    for (const name of names) seen.push({ refused: await wave(name), megabytes: await heapMegabytes() });
    return {
      megabytes: Math.min(...seen.map(({ megabytes }) => megabytes)),
      refused: Math.min(...seen.map(({ refused }) => refused)),
    };
  };

  const first = await least([0, 1, 2, 3]);
  const later = await least([4, 5, 6, 7]);

  expect(Math.min(first.refused, later.refused)).toBeGreaterThan(0);
  expect(later.megabytes).toBeLessThan(first.megabytes + 40);
});
