import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Environment, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { post } from '../rest-facade/facade-over-rpc.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { beginLateEvent } from './late-event.ts';

const environment = Environment.SANDBOX;
const stack = sharedStack({ cores: 2, facades: 1 });
const orders = sharedClient(stack, OrderService, 'writer');
const facadeOrders = sharedClient(stack, OrderService, 'facade');
let merchantId: string;
let testKey: string;
beforeAll(async () => {
  ({ id: merchantId, testKey } = await stack.createMerchant());
});

async function register(orderNumber: string): Promise<string> {
  const { order } = await orders.registerOrder(registration({ merchantId, orderNumber }));
  return order?.orderId ?? '';
}
const cancel = (orderId: string) => orders.cancelOrder({ merchantId, environment, orderId });

describe('WaitOrder', () => {
  test('answers when the order has ended, at any core, while a long transaction holds back the list of events', async () => {
    const late = await beginLateEvent(stack.databaseUrl);
    try {
      const names = ['W-1', 'W-2', 'W-3', 'W-4'];
      const ids = await Promise.all(names.map(register));
      const waiting = ids.map((value) =>
        orders.waitOrder({ merchantId, environment, key: { case: 'orderId', value } }),
      );

      for (const id of ids) await cancel(id);

      for (const answer of await Promise.all(waiting)) {
        expect(answer.timedOut).toBe(false);
        expect(answer.order?.status).toBe(OrderStatus.FAILED);
      }
    } finally {
      await late.rollback();
      await late.end();
    }
  });

  test('answers at once when the order already has a later event than the known one', async () => {
    await register('W-known');
    const known = orderNamed(merchantId, 'W-known');
    const first = await orders.waitOrder({ ...known, knownSequence: 0n });
    expect(first).toMatchObject({ timedOut: false, order: { lastEventSequence: 1n } });

    const second = orders.waitOrder({ ...known, knownSequence: 1n });
    await orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'W-known' }));
    expect(await second).toMatchObject({
      timedOut: false,
      order: { lastEventSequence: 2n, status: OrderStatus.PENDING },
    });
  });

  test('answers with the order as it is when the time has passed, before the deadline of the call', async () => {
    await register('W-passed');
    const known = orderNamed(merchantId, 'W-passed');
    const [passed, deadline] = await Promise.all([
      orders.waitOrder({ ...known, timeout: durationFromMs(1) }),
      orders.waitOrder(known, { timeoutMs: 1_000 }),
    ]);
    for (const answer of [passed, deadline])
      expect(answer).toMatchObject({ timedOut: true, order: { status: OrderStatus.PENDING } });
  });

  test('an invalid request is answered with its invalid fields', async () => {
    expect(await failureOf(orders.waitOrder(orderNamed(merchantId, 'W-none')))).toMatchObject({
      code: 'NotFound',
      reason: 'ORDER_NOT_FOUND',
    });
    const wrong = { merchantId, environment, knownSequence: -1n, timeout: durationFromMs(30_001) };
    expect(await wrongFields(orders.waitOrder(wrong))).toBe('known_sequence order_number timeout');
  });
});

test('a stream of ended orders contains each order that ends, and no other change', async () => {
  const leave = new AbortController();
  const told: string[] = [];
  let isOpen = false;
  const read = async (): Promise<void> => {
    for await (const { orderIds } of facadeOrders.watchEndedOrders({}, { signal: leave.signal })) {
      isOpen = true;
      told.push(...orderIds);
    }
  };
  const reading = read().catch(() => undefined);
  await waitUntil('it is open', () => isOpen);
  const [ended, paying] = await Promise.all([register('E-ended'), register('E-paying')]);
  await orders.startDirectPayment(
    directPayment({ merchantId, orderNumber: 'E-paying', phone: '0911223355' }),
  );
  await cancel(ended);

  await waitUntil('the end is told', () => told.includes(ended));
  expect(told).not.toContain(paying);
  leave.abort();
  await reading;
});

test('a waiting request of a merchant gets the end of the order from its facade', async () => {
  const orderId = await register('M-1');
  const waiting = post(
    `${stack.facades[0]?.sandbox}/api/v1/verify`,
    { order_number: 'M-1' },
    { apiKey: testKey, prefer: 'wait=30' },
  );
  await cancel(orderId);

  const answer = await waiting;
  expect(answer.headers.get('preference-applied')).toBe('wait=30');
  expect(answer.json).toMatchObject({ code: 200, data: { order_number: 'M-1', status: 'FAILED' } });
});
