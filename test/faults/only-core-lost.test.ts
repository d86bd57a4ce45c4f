import { createClient } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { createGrpcTransport } from '../../src/contract/grpc-transport.ts';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { RequestLogService } from '../../src/gen/gatehouse/v1/request_log_service_pb.js';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startInline } from '../support/inline-process.ts';
import { registration } from '../support/order-requests.ts';
import { closersOfEachTest, sharedStack } from '../support/shared-stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { postJson } from '../support/post-json.ts';

/*
 * A facade whose only core is frozen, and is killed twice. Each test leaves a core at the same address to the next one.
 */

const stack = sharedStack({
  ownProcesses: ['core'],
  settings: { GATEHOUSE_METRICS_PORT: '0', GATEHOUSE_RATE_LIMIT_PER_KEY: '100' },
});
const cleanUps = closersOfEachTest();
const environment = Environment.SANDBOX;
let replacement: GatehouseProcess | undefined;

const post = (path: string, apiKey: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  postJson(`${stack.facades[0]?.sandbox}/api/v1/${path}`, body, { apiKey, ...headers });

/** The requests of a merchant that the facade has answered and not refused as too many, by its own log. */
const answeredBy = ({ log }: GatehouseProcess, merchantId: string): number =>
  log.filter(({ msg, merchant_id: id, status }) => msg === 'request' && id === merchantId && status !== 429)
    .length;

test('requests that the facade answers while core is frozen are later in the request log, or counted there as missing', async () => {
  const merchant = await stack.createMerchant();
  const facade = stack.facades[0]!.process;
  // Their lines in the facade's log are shared.
  let refused = 0;
  const ask = async (order_number: string): Promise<void> => {
    const answer = await post('verify', merchant.testKey, { order_number });
    await answer.arrayBuffer();
    if (answer.status === 429) refused += 1;
  };
  await ask('before');

  stack.cores[0]?.signal('SIGSTOP');
  cleanUps.push(() => stack.cores[0]?.signal('SIGCONT'));
  // The facade caches the key for three seconds, and cannot assign later requests to a merchant. How many it stores
  // and counts depends on their rate.
  await Promise.all(Array.from({ length: 400 }, (_, index) => ask(`W-${index}`)));
  stack.cores[0]?.signal('SIGCONT');

  const log = stack.client(RequestLogService, 'reader');
  const asked = { merchantId: merchant.id, environment, pageSize: 500 };
  const seen = await waitUntil('each is in the log or counted', async () => {
    const reply = await insist('core answers', () => log.listApiRequests(asked));
    const sum = { kept: reply.requests.length, unkept: Number(reply.unkept) };
    return sum.kept + sum.unkept >= answeredBy(facade, merchant.id) + refused && sum;
  });

  expect(seen.kept + seen.unkept).toBe(answeredBy(facade, merchant.id) + refused);
});

test('a facade without a core answers the documented error, and recovers when a core starts', async () => {
  const { testKey } = await stack.createMerchant();
  const register = () =>
    post('register', testKey, {
      order_number: 'AWAY-1',
      amount: '10.00',
      currency: 'ETB',
      reason: 'A test',
      customer_phone: '0911223344',
      return_url: 'https://shop.example/return',
    });
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`${stack.facades[0]?.sandbox}${path}`)).status;
  const first = await (await register()).json();
  expect(await statusOf('/readyz')).toBe(200);

  await stack.cores[0]?.stop('SIGKILL');

  await waitUntil('it says that it is not ready', async () => (await statusOf('/readyz')) === 503);
  expect(await statusOf('/healthz')).toBe(200);
  const answers = await Promise.all(Array.from({ length: 50 }, register));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([500]));
  expect(await answers[0]?.json()).toEqual({ code: 500, message: 'Internal server error' });

  replacement = await stack.replaceCore();
  await waitUntil('it is ready again', async () => (await statusOf('/readyz')) === 200);
  const again = await register();
  expect(again.status).toBe(201);
  expect(await again.json()).toEqual(first);
});

test('requests that wait for orders are answered although the only core of their facade is killed', async () => {
  const { id: merchantId, testKey } = await stack.createMerchant();
  const count = 60;
  // The facade does not know this core, so it can only learn from its own core.
  const elsewhere = await startInline('core', stack.coreSettings);
  cleanUps.push(() => elsewhere.stop());
  const address = String(elsewhere.ready['grpc']);
  const transport = createGrpcTransport({ addresses: [address], token: stack.tokens.writer });
  cleanUps.push(() => transport.close());
  const orders = createClient(OrderService, transport);
  const numbers = Array.from({ length: count }, (_, index) => `K-${index}`);
  const ids = await Promise.all(
    numbers.map(async (orderNumber) => {
      const { order } = await orders.registerOrder(registration({ merchantId, orderNumber }));
      return order?.orderId ?? '';
    }),
  );
  const end = (from: number, to: number) =>
    Promise.all(
      ids.slice(from, to).map((orderId) => orders.cancelOrder({ merchantId, environment, orderId })),
    );
  const waitSeconds = 30;
  let answered = 0;
  const waiting = numbers.map(async (order_number) => {
    for (;;) {
      const startedMs = performance.now();
      const response = await post('verify', testKey, { order_number }, { prefer: `wait=${waitSeconds}` });
      const { data } = (await response.json()) as { data?: { status: string } };
      // On a slow machine the wait may be over while the order is PENDING or there is no core.
      const isOver = performance.now() - startedMs >= waitSeconds * 1_000;
      if (isOver && data?.status !== 'FAILED') continue;
      answered += 1;
      return `${response.status} ${data?.status}`;
    }
  });
  const facadeMetrics = String(stack.facades[0]?.process.ready['metrics']);
  await waitUntil('all requests wait', async () =>
    (await (await fetch(facadeMetrics)).text()).includes(`gatehouse_waiting_requests ${count}\n`),
  );
  await end(0, 20);
  await waitUntil('the first requests are answered', () => answered >= 20);

  await replacement?.stop('SIGKILL');
  await end(20, 40);
  await stack.replaceCore();
  await waitUntil('requests for orders that ended meanwhile are answered', () => answered >= 40);
  await end(40, count);

  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['200 FAILED']));
});
