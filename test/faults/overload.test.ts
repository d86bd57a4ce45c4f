import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { afterEach, expect, test } from '@jest/globals';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import type { Status } from '../../src/gen/google/rpc/status_pb.js';
import { RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.js';
import { fromStatus, reasonOf } from '../../src/platform/rpc/rpc-error.ts';
import { holdOrders } from '../support/hold-orders.ts';
import type { HeldOrders } from '../support/hold-orders.ts';
import { directPayment, registration } from '../support/order-requests.ts';
import { hangMs, waitUntil } from '../support/wait-until.ts';
import { sharedStack } from '../support/shared-stack.ts';
import { postJson } from '../support/post-json.ts';

/** All tests share one core and one facade, so a test would notice what an earlier one left behind. */
const settings = { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' };
const stack = sharedStack({ ownProcesses: ['core'], cores: 1, facades: 1, settings });
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

type Orders = Client<typeof OrderService>;
/** The default deadline would judge the speed of the machine. */
const patient = { timeoutMs: hangMs };

let phones = 0;
const newPhone = (): string => `09${String(10_000_000 + (phones += 1))}`;
/** One item of a batch's answer: its response, or the error that the item alone has. */
interface Item {
  readonly result: { readonly case: string | undefined; readonly value?: unknown };
}

interface Kind {
  readonly name: string;
  readonly holds: 'inserts' | 'reads';
  readonly path: string;
  readonly batch: (
    orders: Orders,
    merchantId: string,
    orderNumbers: readonly string[],
  ) => Promise<{ readonly results: readonly Item[] }>;
  readonly one: (orders: Orders, merchantId: string, orderNumber: string) => Promise<unknown>;
}

const orderNumbered = (merchantId: string, value: string) => ({
  merchantId,
  environment: Environment.SANDBOX,
  key: { case: 'orderNumber' as const, value },
});

const kinds: Kind[] = [
  {
    name: 'registrations',
    holds: 'inserts',
    path: '/api/v1/register',
    batch: (orders, merchantId, numbers) =>
      orders.batchRegisterOrders(
        { requests: numbers.map((orderNumber) => registration({ merchantId, orderNumber })) },
        patient,
      ),
    one: (orders, merchantId, orderNumber) =>
      orders.registerOrder(registration({ merchantId, orderNumber }), patient),
  },
  {
    name: 'direct payments',
    holds: 'inserts',
    path: '/api/v1/direct?payment_option=walleta_ussd',
    batch: (orders, merchantId, numbers) =>
      orders.batchStartDirectPayments(
        {
          requests: numbers.map((orderNumber) =>
            directPayment({ merchantId, orderNumber, phone: newPhone() }),
          ),
        },
        patient,
      ),
    one: (orders, merchantId, orderNumber) =>
      orders.startDirectPayment(directPayment({ merchantId, orderNumber, phone: newPhone() }), patient),
  },
  {
    name: 'status checks',
    holds: 'reads',
    path: '/api/v1/verify',
    batch: (orders, merchantId, numbers) =>
      orders.batchGetOrders(
        { requests: numbers.map((number) => orderNumbered(merchantId, number)) },
        patient,
      ),
    one: (orders, merchantId, number) => orders.getOrder(orderNumbered(merchantId, number), patient),
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

/** A shop that sends single requests over REST. */
async function openShop(path: string) {
  const { id: merchantId, testKey } = await stack.createMerchant();
  const sandbox = stack.facades[0]?.sandbox ?? '';
  const post = (where: string, orderNumber: string) =>
    postJson(`${sandbox}${where}`, body(orderNumber), { apiKey: testKey });
  return {
    merchantId,
    register: (orderNumber: string) => post('/api/v1/register', orderNumber),
    send: (orderNumber: string) => post(path, orderNumber),
    headersOnly: () => answerToHeaders(new URL(sandbox), testKey),
    flood: (count: number) => sendPipelined(new URL(sandbox), testKey, count),
  };
}

/** The answer to a registration whose body does not arrive; nothing while the facade waits for it. */
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

/** Sends registrations over one connection at once: a flood that costs its sender little. Resolves when all of them are answered. */
async function sendPipelined({ hostname, port }: URL, apiKey: string, count: number): Promise<void> {
  const socket = connect(Number(port), hostname);
  for (let index = 0; index < count; index += 1) {
    const text = JSON.stringify(body(`P-${randomUUID()}`));
    socket.write(
      `POST /api/v1/register HTTP/1.1\r\nHost: shop\r\napiKey: ${apiKey}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  }
  let answers = '';
  try {
    for await (const chunk of socket) {
      answers += String(chunk);
      if (answers.split('HTTP/1.1 ').length > count) return;
    }
  } catch {
    // The facade closes the connection after a refusal, although more requests follow.
  } finally {
    socket.destroy();
  }
}

/** The reason why an item failed; undefined for one that succeeded. */
const reasonOfItem = ({ result }: Item): string | undefined =>
  result.case === 'error' ? reasonOf(fromStatus(result.value as Status)) : undefined;

const batches = 10;
const perBatch = 500;

test.each(kinds)(
  '$name beyond the limit get 429, the others wait and succeed, and memory does not grow',
  async ({ holds, path, batch, one }) => {
    const { merchantId, register, send } = await openShop(path);
    const orders = stack.client(OrderService, 'writer');
    const [core] = stack.cores;
    expect((await register('THERE')).status).toBe(201);
    const numberOf = (index: number): string => (holds === 'reads' ? 'THERE' : `G-${index}`);
    const megabytesBefore = await residentMegabytes(core?.pid);

    /** Makes more calls than core holds, and another while they wait. Returns its result, and all items of the calls. */
    const overload = async <Answer>(flood: number, another: () => Promise<Answer>) => {
      held = await holdOrders(stack.databaseUrl, holds);
      const answers = Array.from({ length: batches }, (_, count) =>
        batch(
          orders,
          merchantId,
          Array.from({ length: perBatch }, (__, index) =>
            numberOf((flood * batches + count) * perBatch + index),
          ),
        ),
      );
      // A batch is answered when all its items are. Only refused items have an answer while the database is held.
      await Promise.any(answers);
      const answer = await another();
      await letGo();
      return { answer, items: (await Promise.all(answers)).flatMap(({ results }) => results) };
    };
    /**
     * On a busy machine, core ends a statement that is held for ten seconds, and the facade answers 500 after eight. Then the test did not
     * show what happens to calls that wait, and is repeated.
     */
    let floods = 0;
    const overloadInTime = <Answer>(another: () => Promise<Answer | undefined>) =>
      waitUntil('a flood has been answered in time', async () => {
        const { answer, items } = await overload(floods++, another);
        const isLate = items.some((item) => reasonOfItem(item) === 'DATABASE_UNAVAILABLE');
        return answer === undefined || isLate ? undefined : { answer, items };
      });

    const { answer: overRpc, items } = await overloadInTime(() =>
      one(orders, merchantId, holds === 'reads' ? 'THERE' : `ONE-${floods}`).catch((error: unknown) =>
        ConnectError.from(error),
      ),
    );
    const { answer: refused } = await overloadInTime(async () => {
      const answer = await send(holds === 'reads' ? 'THERE' : 'REFUSED');
      return answer.status === 500 ? undefined : answer;
    });

    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({ code: 429, message: 'Too many requests' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(items).toHaveLength(batches * perBatch);
    expect(new Set(items.map(reasonOfItem))).toEqual(new Set(['OVERLOADED', undefined]));
    expect(overRpc instanceof ConnectError && reasonOf(overRpc)).toBe('OVERLOADED');
    expect(overRpc instanceof ConnectError && overRpc.findDetails(RetryInfoSchema)).toHaveLength(1);
    expect((await register('AFTER')).status).toBe(201);
    expect(await residentMegabytes(core?.pid)).toBeLessThan(megabytesBefore + 400);
  },
);

test('a facade with 1,000 waiting requests refuses the next one without its body, and recovers afterwards', async () => {
  const { register, headersOnly, flood } = await openShop('/api/v1/register');
  held = await holdOrders(stack.databaseUrl, 'inserts');
  const floods: Promise<void>[] = [];

  const answer = await waitUntil('the facade is full', async () => {
    // Eight batches of 32 are in progress at core, and 1,000 requests wait for them. The others are refused. On a busy machine, the
    // first may have reached their deadline before the last arrive, so more follow.
    for (let count = 0; count < 28; count += 1) floods.push(flood(50));
    const text = await headersOnly();
    return text.startsWith('HTTP/1.1 429 ') ? text : undefined;
  });

  expect(answer).toMatch(/^retry-after: 1\r$/im);
  await letGo();
  await Promise.all(floods);
  expect((await register('AFTER')).status).toBe(201);
});

test('the heap of core does not grow with repeated overload', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const orders = stack.client(OrderService, 'writer');
  /** Twelve batches of 500 orders. Core holds 3,500 of them and refuses the others. */
  const wave = async (name: number): Promise<number> => {
    held = await holdOrders(stack.databaseUrl, 'inserts');
    const batches = Array.from({ length: 12 }, (_, batch) =>
      orders.batchRegisterOrders(
        {
          requests: Array.from({ length: 500 }, (_, index) =>
            registration({ merchantId, orderNumber: `W-${name}-${batch}-${index}` }),
          ),
        },
        patient,
      ),
    );
    await Promise.any(batches);
    await letGo();
    const results = (await Promise.all(batches)).flatMap((batch) => batch.results);
    return results.filter(({ result }) => result.case === 'error').length;
  };

  /** The smallest heap and the fewest refusals of some waves. The smallest heap is one without garbage. */
  const least = async (names: readonly number[]): Promise<{ megabytes: number; refused: number }> => {
    const seen: { megabytes: number; refused: number }[] = [];
    for (const name of names) seen.push({ refused: await wave(name), megabytes: await heapMegabytes() });
    return {
      megabytes: Math.min(...seen.map(({ megabytes }) => megabytes)),
      refused: Math.min(...seen.map(({ refused }) => refused)),
    };
  };

  const first = await least([0, 1, 2]);
  const limit = first.megabytes + 40;
  let later = await least([3, 4, 5]);
  // Garbage is collected now and then. A leak would grow with each further wave.
  for (let name = 6; name < 12 && later.megabytes >= limit; name++) later = await least([name]);

  expect(Math.min(first.refused, later.refused)).toBeGreaterThan(0);
  expect(later.megabytes).toBeLessThan(limit);
});
