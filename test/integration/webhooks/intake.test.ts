import { beforeEach, describe, expect, test } from '@jest/globals';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { OrderEventType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { eventBody } from '../../../src/webhooks/intake/event-body.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import type { Stack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { outcomes } from '../core/payment-desk.ts';
import { committedEvents, numbered, openIntakeDesk } from './intake-under-test.ts';
import type { IntakeDesk, RunningIntake } from './intake-under-test.ts';
import { closersOfEachTest, shared } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

const desk = shared(openIntakeDesk);
const closers = closersOfEachTest();
/** Each test has a merchant of its own. The numbers of events count those of the tests before it, too. */
let merchantId: string;
let before: number;
beforeEach(async () => {
  ({ id: merchantId } = await desk.stack.createMerchant());
  before = (await desk.toldEvents()).length;
});

function startIntake(...options: Parameters<IntakeDesk['startIntake']>): RunningIntake {
  const intake = desk.startIntake(...options);
  closers.push(intake.stop);
  return intake;
}
const expire = (orderNumbers: readonly string[]) => desk.expireOrders(orderNumbers, merchantId);
/** Waits until so many orders of this test have ended, and expects one delivery for each event. Returns those of this test. */
const takenIn = async (count: number) =>
  (await desk.expectEachTakenInOnce(before + count)).filter((row) => row.merchant_id === merchantId);
const eventsOfMerchant = async () =>
  (await committedEvents(desk.desk)).filter(({ order }) => order?.merchantId === merchantId);

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
    const intake = startIntake();
    const payments = desk.desk;
    const completed = await payments.registerHosted({ merchantId, orderNumber: 'A-1' });
    await payments.settle(await payments.payHosted(completed), outcomes.declined());
    await payments.settle(await payments.payHosted(completed), outcomes.completed('t-1'));
    const failed = await payments.registerHosted({ merchantId, orderNumber: 'A-2' });
    await payments.cancelHosted(failed);
    const expired = await payments.registerHosted({ merchantId, orderNumber: 'A-3' });
    await payments.endSession(expired);
    const silent = await payments.startDirect({ merchantId, orderNumber: 'A-4' });
    await payments.settle(silent, outcomes.declined());

    const rows = await takenIn(3);

    const types = (await eventsOfMerchant()).map(({ type }) => type);
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

  test('stores the body of the event, and the URL', async () => {
    startIntake();
    const hosted = await desk.desk.registerHosted({
      merchantId,
      orderNumber: 'B-1',
      webhookUrl: 'https://Shop.Example:443/hook?key=1',
    });
    await desk.desk.settle(await desk.desk.payHosted(hosted), outcomes.completed('t-1'));

    const [row] = await takenIn(1);

    const event = (await eventsOfMerchant()).at(-1);
    if (event?.order === undefined) throw new Error('no event');
    expect(row?.body).toEqual(eventBody(event, 'order.completed'));
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
    const intake = startIntake();
    const laneHas = (condition: string) =>
      desk.desk.query(`select ${condition} as holds from webhooks.lanes where merchant_id = $1`, [
        merchantId,
      ]);
    await expire(['L-1']);
    await takenIn(1);
    expect(await laneHas('next_due_at <= now()')).toEqual([{ holds: true }]);
    await desk.desk.query(sql`update webhooks.lanes
      set next_due_at = null, resting_until = now() + interval '1 hour' where merchant_id = ${merchantId}`);

    await expire(['L-2']);
    await takenIn(2);

    expect(await laneHas('next_due_at = resting_until')).toEqual([{ holds: true }]);
    expect(intake.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('ingests a thousand events in batches, from the broker only after it has caught up', async () => {
    await expire(numbered('before', 100));
    const startedAt = new Date();
    const core = await reachableCore(desk.stack);
    const intake = startIntake({ now: () => startedAt, orders: core.orders });
    await takenIn(100);
    await waitUntil('the broker delivers events', intake.isListening);
    // Each silence of the broker on a busy machine makes a read of core's list due. From here on, such a read finds nothing.
    await core.cutOff();
    const atFirst = { brought: intake.brought(), looks: intake.looks(), silences: intake.silences() };

    await expire(numbered('C', 400));
    await takenIn(500);

    expect(intake.announced()).toBeLessThan(500);
    // 400 registered and 400 expired, and the last events before that the broker may not have delivered yet.
    expect(intake.brought() - atFirst.brought).toBeGreaterThanOrEqual(800);
    // A silence or a look may be under way when they are counted.
    expect(intake.looks() - atFirst.looks).toBeLessThanOrEqual(intake.silences() - atFirst.silences + 1);
  });
});

describe('with two intakes', () => {
  test('one process ingests, and another takes over when the session with the lock ends', async () => {
    const first = startIntake();
    await waitUntil('the first takes in', first.isIngesting);
    const second = startIntake();
    await expire(numbered('F', 10));
    await takenIn(10);
    expect(second.isIngesting()).toBe(false);

    await first.stop();
    await expire(numbered('G', 10));
    await takenIn(20);
    expect(second.isIngesting()).toBe(true);
    const third = startIntake();
    await desk.endIntakeSession();
    await expire(numbered('H', 10));

    await takenIn(30);
    expect(
      second.log.filter(({ msg }) => msg === 'ingesting events').length + Number(third.isIngesting()),
    ).toBe(2);
  });
});
