import { createClient } from '@connectrpc/connect';
import { afterEach, expect, test } from '@jest/globals';
import { createGrpcTransport } from '../../src/contract/grpc-transport.ts';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { startInline } from '../support/inline-process.ts';
import { registration } from '../support/order-requests.ts';
import { startStack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const count = 60;
const environment = Environment.SANDBOX;

test('requests that wait for orders are answered although the only core of their facade is killed', async () => {
  const stack = await startStack({
    ...{ ownProcesses: ['core'], cores: 1, facades: 1 },
    settings: { GATEHOUSE_METRICS_PORT: '0' },
  });
  cleanUps.push(() => stack.stop());
  const { id: merchantId, testKey } = await stack.createMerchant();
  // The facade does not know this core, so it can notice only what its own core tells it.
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
  let answered = 0;
  const waiting = numbers.map(async (order_number) => {
    const response = await fetch(`${stack.facades[0]?.sandbox}/api/v1/verify`, {
      method: 'POST',
      headers: { apiKey: testKey, 'content-type': 'application/json', prefer: 'wait=30' },
      body: JSON.stringify({ order_number }),
    });
    answered += 1;
    const { data } = (await response.json()) as { data?: { status: string } };
    return `${response.status} ${data?.status}`;
  });
  const facadeMetrics = String(stack.facades[0]?.process.ready['metrics']);
  await waitUntil('all requests wait', async () =>
    (await (await fetch(facadeMetrics)).text()).includes(`gatehouse_waiting_requests ${count}\n`),
  );
  await end(0, 20);
  await waitUntil('the first requests are answered', () => answered >= 20);

  await stack.cores[0]?.stop('SIGKILL');
  await end(20, 40);
  const replacement = await startInline('core', {
    ...stack.coreSettings,
    GATEHOUSE_CORE_GRPC_PORT: stack.addresses[0]?.split(':').at(-1) ?? '',
  });
  cleanUps.push(() => replacement.stop());
  await waitUntil('requests for orders that ended meanwhile are answered', () => answered >= 40);
  await end(40, count);

  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['200 FAILED']));
});
