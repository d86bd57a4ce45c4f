import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { formatCursor } from '../../../src/contract/event-cursor.ts';
import { DiagnosticsService } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import type { SubscribedType } from '../../../src/webhooks/domain/webhook-endpoint.ts';
import { createWebhookEndpoints } from '../../../src/webhooks/endpoints/webhook-endpoints.ts';
import { createReconcileDeliveries } from '../../../src/webhooks/health/reconcile-deliveries.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { outcomes } from '../core/payment-desk.ts';
import { committedEvents, numbered, openIntakeDesk } from './intake-under-test.ts';
import type { DeliveryRow, RunningIntake } from './intake-under-test.ts';
import { shared } from '../../support/shared-stack.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sql } from '../../support/sql.ts';

const retentionDays = 90;
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

let intake: RunningIntake;
const desk = shared(openIntakeDesk);
beforeAll(() => {
  intake = desk.startIntake();
});
afterEach(() => desk.desk.query('truncate webhooks.findings'));

/** A process with a clock that is ahead, so that its rounds examine what has just happened. */
function openReconciler({ aheadMs = 2 * minuteMs, orders = desk.orders } = {}) {
  const { database, writer, stack } = desk;
  const { logger, log } = keptLog();
  const now = () => new Date(Date.now() + aheadMs);
  let woken = 0;
  const round = createReconcileDeliveries({
    database,
    writer,
    orders,
    diagnostics: stack.client(DiagnosticsService, 'webhooks'),
    retentionDays,
    onDeliveries: () => (woken += 1),
    newId: newRandomId,
    logger,
    now,
    machineNow: now,
  });
  return async () => {
    await round(new AbortController().signal);
    return { errors: log.filter(({ level }) => level === 'error'), woken };
  };
}

const reconcile = (options: { aheadMs?: number } = {}) => openReconciler(options)();

/**
 * Waits until the intake has read every event. A transaction of another test, in the same PostgreSQL server, may hold events back
 * from all readers.
 */
async function untilRead(): Promise<void> {
  await waitUntil('no event is held back', async () => {
    const [row] = await desk.desk.query<{ count: number }>(`
      select count(*)::int from core.order_events where xid >= pg_snapshot_xmin(pg_current_snapshot())`);
    return row?.count === 0;
  });
  await waitUntil('the intake has read everything', async () => {
    const [row] = await desk.desk.query<{ cursor: string }>(`
      select cursor from webhooks.event_readers where reader = 'intake'`);
    const { entries } = await desk.orders.listOrderEvents({ afterCursor: row?.cursor ?? '' });
    return row !== undefined && entries.length === 0;
  });
}

/** Orders that have expired, and their deliveries. */
async function expiredOrders(count: number): Promise<{ merchantId: string; rows: readonly DeliveryRow[] }> {
  const { id: merchantId } = await desk.stack.createMerchant();
  await desk.expireOrders(numbered('R', count), merchantId);
  const rows = await waitUntil('they are delivered', async () => {
    const own = (await desk.deliveries()).filter((row) => row.merchant_id === merchantId);
    return own.length === count && own;
  });
  await untilRead();
  return { merchantId, rows };
}

/** The id of a webhook endpoint that receives these types; all when empty. */
async function endpointOf(
  merchantId: string,
  url: string,
  eventTypes: readonly SubscribedType[],
): Promise<string> {
  const now = (): Date => new Date();
  const { pool } = desk.database;
  const secrets = { createFirst: unused, removeAll: unused };
  const endpoints = createWebhookEndpoints({ pool, secrets, newId: newRandomId, now });
  const wanted = {
    merchantId,
    environment: 'SANDBOX',
    url,
    description: '',
    eventTypes,
    withoutSecret: true,
  } as const;
  const created = await endpoints.create(wanted, { actor: 'test', requestId: '' });
  if (created.type !== 'created') throw new Error(created.type);
  return created.endpoint.id;
}

const unused = (): never => {
  throw new Error('no secret is wanted');
};

const deliveriesOf = async (merchantId: string): Promise<readonly DeliveryRow[]> =>
  (await desk.deliveries()).filter((row) => row.merchant_id === merchantId);

const findings = () =>
  desk.desk.query<{
    merchant_id: string;
    order_id: string;
    is_repaired: boolean;
    code: string;
    facts: object;
  }>('select code, merchant_id, order_id, event_id, is_repaired, facts from webhooks.findings order by id');

describe('a round of the reconciler', () => {
  test('finds nothing when nothing is missing, and records its end', async () => {
    await expiredOrders(5);

    const { errors, woken } = await reconcile();

    expect({ errors, woken, findings: await findings() }).toEqual({ errors: [], woken: 0, findings: [] });
    const [row] = await desk.desk.query<{ is_recent: boolean }>(`
      select read_at > now() - interval '1 minute' as is_recent from webhooks.event_readers
      where reader = 'reconcile'`);
    expect(row?.is_recent).toBe(true);
  });

  test('creates missing deliveries, due at once, and reports them once', async () => {
    const { merchantId, rows } = await expiredOrders(6);
    const [first, second] = rows;
    await desk.desk.query(sql`delete from webhooks.deliveries
      where merchant_id = ${merchantId} and event_id = any (${[first?.event_id, second?.event_id]})`);
    await desk.desk.query(sql`
      update webhooks.lanes set next_due_at = null where merchant_id = ${merchantId}`);

    const round = await reconcile();
    const again = await reconcile();

    const content = (row: DeliveryRow) => ({ event: row.event_id, body: row.body.toString(), url: row.url });
    expect((await deliveriesOf(merchantId)).map(content)).toEqual(rows.map(content));
    expect(round).toMatchObject({ woken: 1, errors: [{ deliveries: 2 }] });
    expect(again).toEqual({ woken: 0, errors: [] });
    const found = await findings();
    const expected = [first, second].map((row) => ({
      merchant_id: merchantId,
      order_id: row?.order_id,
      event_id: row?.event_id,
      is_repaired: true,
      code: 'DELIVERY_CREATED',
      facts: {},
    }));
    // Both have the same time, so their sequence is undefined.
    expect(found).toHaveLength(2);
    expect(found).toEqual(expect.arrayContaining(expected));
    const due = await desk.desk.query(sql`
      select 1 from webhooks.lanes where merchant_id = ${merchantId} and next_due_at <= now()`);
    expect(due).toHaveLength(1);
  });

  test('compares each receiver: a webhook endpoint gets the events that were committed after its creation, and no more', async () => {
    const { id: merchantId } = await desk.stack.createMerchant();
    await desk.expireOrders(['E-1'], merchantId);
    await waitUntil('it is delivered', async () => (await deliveriesOf(merchantId)).length === 1);
    await desk.desk.query(`update webhooks.event_readers set cursor = '' where reader = 'reconcile'`);
    const endpoints = [
      await endpointOf(merchantId, 'https://all.example', []),
      await endpointOf(merchantId, 'https://expired.example', ['order.expired']),
      await endpointOf(merchantId, 'https://refunds.example', ['refund.completed']),
    ];
    const created = `update webhooks.webhook_endpoint_types set since = since - interval '2 minutes' where merchant_id = $1`;
    // The first order is too old for the endpoints now, and the next ones are not.
    await desk.desk.query(sql`update webhooks.webhook_endpoint_types set since = since + interval '2 minutes'
      where merchant_id = ${merchantId}`);
    await reconcile();
    expect(await deliveriesOf(merchantId)).toHaveLength(1);
    await desk.desk.query(created, [merchantId]);
    await desk.expireOrders(['E-2'], merchantId);
    const whole = await waitUntil('each receiver has its delivery', async () => {
      const rows = (await deliveriesOf(merchantId)).filter((row) => row.order_number === 'E-2');
      return rows.length === 3 && rows;
    });
    await untilRead();
    expect(new Set(whole.map(({ body }) => body.toString())).size).toBe(1);
    expect(whole.map(({ endpoint }) => endpoint).sort()).toEqual(
      ['https://shop.example', endpoints[0], endpoints[1]].sort(),
    );
    const lost = `delete from webhooks.deliveries where merchant_id = $1 and endpoint = $2`;
    await desk.desk.query(lost, [merchantId, endpoints[1]]);
    await desk.desk.query(created, [merchantId]);

    const round = await reconcile();

    expect(round).toMatchObject({ woken: 1 });
    const repaired = (await deliveriesOf(merchantId)).filter(({ endpoint }) => endpoint === endpoints[1]);
    expect(repaired.some(({ order_number: number }) => number === 'E-2')).toBe(true);
    expect(await findings()).toContainEqual(
      expect.objectContaining({ merchant_id: merchantId, code: 'DELIVERY_CREATED', is_repaired: true }),
    );
    expect(await reconcile()).toEqual({ woken: 0, errors: [] });
  });

  test('leaves events of the last minute to the next round', async () => {
    const { merchantId } = await expiredOrders(2);
    await desk.desk.query(sql`delete from webhooks.deliveries where merchant_id = ${merchantId}`);

    await reconcile({ aheadMs: 0 });
    expect(await deliveriesOf(merchantId)).toEqual([]);

    await reconcile();
    expect(await deliveriesOf(merchantId)).toHaveLength(2);
  });

  test('continues behind events with a time in the future', async () => {
    const { merchantId } = await expiredOrders(2);
    await desk.desk.query(sql`delete from webhooks.deliveries where merchant_id = ${merchantId}`);

    await reconcile({ aheadMs: -60 * minuteMs });

    expect(await deliveriesOf(merchantId)).toHaveLength(2);
  });

  test('reports no event that the intake has not read yet, nor one older than the retention', async () => {
    const { merchantId } = await expiredOrders(2);
    await desk.desk.query(sql`delete from webhooks.deliveries where merchant_id = ${merchantId}`);
    await reconcile({ aheadMs: retentionDays * dayMs });
    expect(await deliveriesOf(merchantId)).toEqual([]);
    await intake.stop();
    await desk.expireOrders(['late'], merchantId);
    await waitUntil('it has expired', async () =>
      (await committedEvents(desk.desk)).some(
        ({ sequence, order }) => sequence === 2n && order?.orderNumber === 'late',
      ),
    );

    await reconcile();

    expect(await deliveriesOf(merchantId)).toEqual([]);
    expect(await findings()).toEqual([]);
    intake = desk.startIntake();
    await waitUntil('it is delivered', async () => (await deliveriesOf(merchantId)).length === 1);
  });

  test('reports an order whose events have a gap, and what core finds, which it cannot repair, even after a round that failed', async () => {
    const { id: merchantId } = await desk.stack.createMerchant();
    const order = await desk.desk.registerHosted({ merchantId, orderNumber: 'G-1' });
    await desk.desk.settle(await desk.desk.payHosted(order), outcomes.completed('t-1'));
    await untilRead();
    await desk.desk.query('alter table core.order_events disable trigger append_only');
    await desk.desk.query(sql`
      delete from core.order_events where order_id = ${storedId('ord', order.orderId)} and sequence = 2`);

    let failures = 1;
    const orders: typeof desk.orders = {
      ...desk.orders,
      listOrderEvents: (request, options) =>
        (request.orderId ?? '') !== '' && failures-- > 0
          ? Promise.reject(new Error('core is restarting'))
          : desk.orders.listOrderEvents(request, options),
    };
    const reconciler = openReconciler({ orders });
    await expect(reconciler()).rejects.toThrow('core is restarting');

    // PostgreSQL releases the lock of the failed round when its session has ended. A round without the lock does nothing.
    const { errors } = await waitUntil('a round has the lock', async () => {
      const round = await reconciler();
      return round.errors.length > 0 && round;
    });
    const again = await reconcile();

    expect(await findings()).toEqual([
      {
        code: 'EVENTS_MISSING',
        merchant_id: merchantId,
        order_id: order.orderId,
        event_id: '',
        is_repaired: false,
        facts: { missingSequences: ['2'] },
      },
      {
        code: 'HISTORIES_DISAGREE',
        merchant_id: '',
        order_id: '',
        event_id: '',
        is_repaired: false,
        facts: {
          orderHistories: {
            orderCount: expect.stringMatching(/^[0-9]+$/),
            differingCount: '1',
            orderIds: [order.orderId],
          },
        },
      },
    ]);
    expect(errors).toHaveLength(2);
    expect(again.errors).toEqual([]);
    await desk.desk.query(sql`
      delete from core.order_events where order_id = ${storedId('ord', order.orderId)}`);
  });

  test('starts again when core does not know its last position', async () => {
    const { merchantId } = await expiredOrders(2);
    await reconcile();
    await desk.desk.query(sql`delete from webhooks.deliveries where merchant_id = ${merchantId}`);
    await desk.desk.query(sql`update webhooks.event_readers
      set cursor = ${formatCursor({ xid: '900000000000', position: '1' })} where reader = 'reconcile'`);

    await reconcile();

    expect(await deliveriesOf(merchantId)).toHaveLength(2);
  });

  test('deletes old findings', async () => {
    await desk.desk.query(`
      insert into webhooks.findings (id, found_at, merchant_id, order_id, is_repaired, detail)
      values ('whf_1', now() - interval '91 days', '', '', true, 'old'), ('whf_2', now(), '', '', true, 'new')`);

    await reconcile();

    expect(await desk.desk.query('select detail from webhooks.findings')).toEqual([{ detail: 'new' }]);
  });
});
