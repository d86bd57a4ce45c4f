import { describe, expect, test } from '@jest/globals';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { OrderEventType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { orderToJson } from '../../../src/merchant-api/order-json.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import type { Stack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { outcomes } from '../core/payment-desk.ts';
import { committedEvents, deskOfEachTest, eventIdsOf, numbered } from './intake-under-test.ts';

const open = deskOfEachTest();

/** A client of the first core, until the network between them is cut off. */
async function reachableCore({ addresses: [address = ''], tokens }: Stack) {
  const { hostname, port } = new URL(`http://${address}`);
  const proxy = await startCuttingProxy({ host: hostname, port: Number(port) });
  const transport = createGrpcTransport({ addresses: [`127.0.0.1:${proxy.port}`], token: tokens.webhooks });
  return {
    orders: createClient(OrderService, transport),
    async cutOff() {
      await proxy.close();
      transport.close();
    },
  };
}

describe('the intake', () => {
  test('creates one delivery for each event that ends an order with a webhook_url, and for no other', async () => {
    const { stack, desk, startIntake, untilAllTakenIn, toldEvents } = await open();
    const { id: merchantId } = await stack.createMerchant();
    const intake = startIntake();
    const completed = await desk.registerHosted({ merchantId, orderNumber: 'A-1' });
    await desk.settle(await desk.payHosted(completed), outcomes.declined());
    await desk.settle(await desk.payHosted(completed), outcomes.completed('t-1'));
    const failed = await desk.registerHosted({ merchantId, orderNumber: 'A-2' });
    await desk.cancelHosted(failed);
    const expired = await desk.registerHosted({ merchantId, orderNumber: 'A-3' });
    await desk.endSession(expired);
    const silent = await desk.startDirect({ merchantId, orderNumber: 'A-4' });
    await desk.settle(silent, outcomes.declined());

    const rows = await untilAllTakenIn(3);

    const types = (await committedEvents(desk)).map(({ type }) => type);
    expect(new Set(types)).toEqual(
      new Set([
        OrderEventType.CREATED,
        OrderEventType.PAYMENT_STARTED,
        OrderEventType.PAYMENT_DECLINED,
        OrderEventType.COMPLETED,
        OrderEventType.FAILED,
        OrderEventType.EXPIRED,
      ]),
    );
    expect(eventIdsOf(rows)).toEqual([...(await toldEvents())].sort());
    expect(new Map(rows.map((row) => [row.order_number, row.event_type]))).toEqual(
      new Map([
        ['A-1', 'order.completed'],
        ['A-2', 'order.failed'],
        ['A-3', 'order.expired'],
      ]),
    );
    // Once for all that are written together, and never for events without deliveries.
    await waitUntil('it says that there are deliveries', () => intake.announced() > 0);
    expect(intake.announced()).toBeLessThanOrEqual(3);
  });

  test('stores the order as verify returns it, and the URL', async () => {
    const { stack, desk, startIntake, untilAllTakenIn } = await open();
    const { id: merchantId } = await stack.createMerchant();
    startIntake();
    const hosted = await desk.registerHosted({
      merchantId,
      orderNumber: 'B-1',
      webhookUrl: 'https://Shop.Example:443/hook?key=1',
    });
    await desk.settle(await desk.payHosted(hosted), outcomes.completed('t-1'));

    const [row] = await untilAllTakenIn(1);

    const event = (await committedEvents(desk)).at(-1);
    if (event?.order === undefined) throw new Error('no event');
    expect(JSON.parse(row?.body.toString() ?? '')).toEqual({
      id: event.eventId,
      type: 'order.completed',
      created_at: new Date(
        Number(event.occurTime?.seconds) * 1000 + Number(event.occurTime?.nanos) / 1e6,
      ).toISOString(),
      environment: 'sandbox',
      sequence: 3,
      previous_status: 'PENDING',
      data: orderToJson(event.order),
    });
    expect(row).toMatchObject({
      merchant_id: merchantId,
      environment: 'SANDBOX',
      endpoint: 'https://shop.example',
      url: event.order.webhookUrl,
      order_id: hosted.orderId,
      sequence: '3',
      state: 'PENDING',
    });
  });

  test('makes a lane due for new deliveries only, and not before its circuit is probed', async () => {
    const { stack, desk, expireOrders, startIntake, untilAllTakenIn } = await open();
    const { id: merchantId } = await stack.createMerchant();
    const intake = startIntake();
    await expireOrders(merchantId, ['L-1']);
    await untilAllTakenIn(1);
    const due = await desk.query<{ due: boolean }>('select next_due_at <= now() as due from webhooks.lanes');
    expect(due).toEqual([{ due: true }]);
    await desk.query(
      `update webhooks.lanes set next_due_at = null, resting_until = now() + interval '1 hour'`,
    );

    await expireOrders(merchantId, ['L-2']);
    await untilAllTakenIn(2);

    const rested = await desk.query<{ rested: boolean }>(
      'select next_due_at = resting_until as rested from webhooks.lanes',
    );
    expect(rested).toEqual([{ rested: true }]);
    expect(intake.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('ingests a thousand events in batches, from the broker only after it has caught up', async () => {
    const { stack, expireOrders, startIntake, toldEvents, untilAllTakenIn } = await open();
    const { id: merchantId } = await stack.createMerchant();
    await expireOrders(merchantId, numbered('before', 100));
    const startedAt = new Date();
    const core = await reachableCore(stack);
    const intake = startIntake({ now: () => startedAt, orders: core.orders });
    await untilAllTakenIn(100);
    await waitUntil('the broker delivers events', intake.isListening);
    // Each silence of the broker on a busy machine makes a read of core's list due. From here on, such a read finds nothing.
    await core.cutOff();
    const before = { brought: intake.brought(), looks: intake.looks(), silences: intake.silences() };

    await expireOrders(merchantId, numbered('C', 400));
    const rows = await untilAllTakenIn(500);

    expect(eventIdsOf(rows)).toEqual([...(await toldEvents())].sort());
    expect(intake.announced()).toBeLessThan(500);
    // 400 registered and 400 expired, and the last events before that the broker may not have delivered yet.
    expect(intake.brought() - before.brought).toBeGreaterThanOrEqual(800);
    // A silence or a look may be under way when they are counted.
    expect(intake.looks() - before.looks).toBeLessThanOrEqual(intake.silences() - before.silences + 1);
  });

  test('continues where the previous intake stopped', async () => {
    const { stack, expireOrders, startIntake, toldEvents, untilAllTakenIn } = await open();
    const { id: merchantId } = await stack.createMerchant();
    const first = startIntake();
    await expireOrders(merchantId, numbered('D', 20));
    await untilAllTakenIn(20);
    await first.stop();

    await expireOrders(merchantId, numbered('E', 20));
    const second = startIntake();
    const rows = await untilAllTakenIn(40);

    expect(eventIdsOf(rows)).toEqual([...(await toldEvents())].sort());
    expect(second.isIngesting()).toBe(true);
  });
});

describe('with two intakes', () => {
  test('one process ingests, and another takes over when the session with the lock ends', async () => {
    const { stack, endIntakeSession, expireOrders, startIntake, toldEvents, untilAllTakenIn } = await open();
    const { id: merchantId } = await stack.createMerchant();
    const first = startIntake();
    await waitUntil('the first takes in', first.isIngesting);
    const second = startIntake();
    await expireOrders(merchantId, numbered('F', 10));
    await untilAllTakenIn(10);
    expect(second.isIngesting()).toBe(false);

    await first.stop();
    await expireOrders(merchantId, numbered('G', 10));
    await untilAllTakenIn(20);
    expect(second.isIngesting()).toBe(true);
    const third = startIntake();
    await endIntakeSession();
    await expireOrders(merchantId, numbered('H', 10));

    const rows = await untilAllTakenIn(30);
    expect(eventIdsOf(rows)).toEqual([...(await toldEvents())].sort());
    expect(
      second.log.filter(({ msg }) => msg === 'ingesting events').length + Number(third.isIngesting()),
    ).toBe(2);
  });
});
