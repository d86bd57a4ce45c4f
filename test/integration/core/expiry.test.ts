import { describe, expect, test, beforeEach } from '@jest/globals';
import { fromBinary } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { storedId } from '../../support/ids.ts';
import {
  Environment,
  OrderEventSchema,
  OrderEventType,
  OrderStatus,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { Order, OrderEvent } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { refusalOf } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedStack, sharedClient, sharedConnection } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { damageRow } from './damaged-row.ts';
import { beginRecovery, endRecoveries, holdRecoveries } from './held-recoveries.ts';

// Two cores, so that every test also shows that two sweeps can run together.
const stack = sharedStack({ cores: 2, facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
const database = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

async function register(merchantId: string, orderNumber: string): Promise<string> {
  const { order } = await orders.registerOrder(registration({ merchantId, orderNumber }));
  return storedId('ord', order?.orderId ?? '');
}

async function startPayment(merchantId: string, orderNumber: string): Promise<string> {
  const { order } = await orders.startDirectPayment(directPayment({ merchantId, orderNumber }));
  return storedId('ord', order?.orderId ?? '');
}

/** Ends the sessions of these orders now, by the database's clock, because the shortest session is five minutes. */
async function endSessions(ids: readonly string[]): Promise<void> {
  await database.query(sql`
    update core.orders set expires_at = now(), sweep_at = now() where id = any (${ids}::uuid[])`);
}

async function getOrder(merchantId: string, orderNumber: string): Promise<Order> {
  const { order } = await orders.getOrder(orderNamed(merchantId, orderNumber));
  if (order === undefined) throw new Error('no order in the answer');
  return order;
}

const untilExpired = (merchantId: string, orderNumber: string): Promise<Order> =>
  waitUntil(`${orderNumber} has expired`, async () => {
    const order = await getOrder(merchantId, orderNumber);
    return order.status === OrderStatus.EXPIRED && order;
  });

async function eventsOf(orderId: string): Promise<OrderEvent[]> {
  const { rows } = await database.query<{ payload: Buffer }>(sql`
    select payload from core.order_events where order_id = ${orderId} order by sequence`);
  return rows.map(({ payload }) => fromBinary(OrderEventSchema, payload));
}

const typesOf = (events: readonly OrderEvent[]): OrderEventType[] => events.map(({ type }) => type);

describe('an order whose session has ended', () => {
  test('becomes EXPIRED by the clock of the database, with an event of the same transaction, and no other order does', async () => {
    const openId = await register(merchantId, 'O-1');
    const id = await register(merchantId, 'E-1');
    await endSessions([id]);
    const order = await untilExpired(merchantId, 'E-1');
    const events = await eventsOf(id);

    expect(typesOf(events)).toEqual([OrderEventType.CREATED, OrderEventType.EXPIRED]);
    expect(events[1]).toMatchObject({ sequence: 2n, previousStatus: OrderStatus.PENDING, requestId: '' });
    expect(events[1]?.order).toEqual(order);
    const { updateTime, expireTime } = order;
    if (updateTime === undefined || expireTime === undefined) throw new Error('a time is missing');
    const updatedAt = timestampDate(updateTime);
    expect(updatedAt.getTime()).toBeGreaterThanOrEqual(timestampDate(expireTime).getTime());
    const { rows } = await database.query<{ same: boolean; past: boolean }>(sql`
      select o.xmin = e.xid::xid as same, ${updatedAt} <= now() as past
      from core.orders o join core.order_events e on e.order_id = o.id where o.id = ${id} and e.sequence = 2`);
    expect(rows).toEqual([{ same: true, past: true }]);
    expect((await getOrder(merchantId, 'O-1')).status).toBe(OrderStatus.PENDING);
    expect(typesOf(await eventsOf(openId))).toEqual([OrderEventType.CREATED]);
  });

  test.each(['read', 'changed'] as const)(
    'expires although another one cannot be %s, which waits',
    async (how) => {
      const damagedId = await register(merchantId, 'E-11');
      const repair = await damageRow((sql) => database.query(sql), 'orders', damagedId, how);
      const id = await register(merchantId, 'E-12');
      // The trigger would refuse this change too.
      await database.query("set session_replication_role = 'replica'");

      await endSessions([damagedId, id]);

      await database.query("set session_replication_role = 'origin'");
      await untilExpired(merchantId, 'E-12');
      await repair();
      expect((await getOrder(merchantId, 'E-11')).status).toBe(OrderStatus.PENDING);
    },
  );

  test('ends its unsent attempt as TIMED_OUT', async () => {
    const id = await startPayment(merchantId, 'E-4');

    await endSessions([id]);

    await untilExpired(merchantId, 'E-4');
    const events = await eventsOf(id);
    expect(typesOf(events).at(-1)).toBe(OrderEventType.EXPIRED);
    expect(events.at(-1)?.paymentAttempt?.status).toBe(PaymentAttemptStatus.TIMED_OUT);
    const { rows } = await database.query<{ status: string }>(sql`
      select status from core.payment_attempts where order_id = ${id}`);
    expect(rows).toEqual([{ status: 'TIMED_OUT' }]);
  });

  test('expires once, however many orders and sweeping cores there are', async () => {
    const numbers = Array.from({ length: 600 }, (_, index) => `E-7-${index}`);
    const ids = await Promise.all(numbers.map((number) => register(merchantId, number)));

    await endSessions(ids);

    await waitUntil('none is PENDING any more', async () => {
      const { rows } = await database.query<{ pending: number }>(sql`select count(*)::int as pending
        from core.orders where id = any (${ids}::uuid[]) and status = 'PENDING'`);
      return rows[0]?.pending === 0;
    });
    const { rows } = await database.query<{ events: number; orders: number }>(sql`
      select count(*)::int as events, count(distinct order_id)::int as orders
      from core.order_events where order_id = any (${ids}::uuid[]) and type = 'EXPIRED'`);
    expect(rows).toEqual([{ events: 600, orders: 600 }]);
    const failures = stack.cores.flatMap(({ log }) =>
      log.filter(({ task, reason }) => task === 'expiring orders' || reason === 'INTERNAL'),
    );
    expect(failures).toEqual([]);
  });
});

test('an order expires while the other environment takes no payments yet', async () => {
  const { order } = await orders.registerOrder(
    registration({ merchantId, orderNumber: 'E-9', environment: Environment.PRODUCTION }),
  );
  const open = storedId('ord', order?.orderId ?? '');
  const closed = await register(merchantId, 'E-10');
  const letRecover = await holdRecoveries(stack.databaseUrl);
  await beginRecovery(stack.databaseUrl, { isClosed: true });
  for (const address of stack.addresses) {
    const transport = createGrpcTransport({ addresses: [address], token: stack.tokens.writer });
    await waitUntil('the core knows of it', async () => {
      const reason = await refusalOf(
        createClient(OrderService, transport).getOrder(orderNamed(merchantId, 'unknown')),
      );
      return reason === 'RECOVERING';
    });
    transport.close();
  }

  await endSessions([closed, open]);

  const statusOf = async (id: string) =>
    (await database.query<{ status: string }>(sql`select status from core.orders where id = ${id}`)).rows[0]
      ?.status;
  await waitUntil('the order has expired', async () => (await statusOf(open)) === 'EXPIRED');
  expect(await statusOf(closed)).toBe('PENDING');
  await endRecoveries(stack.databaseUrl);
  await letRecover();
  await untilExpired(merchantId, 'E-10');
});

test('a final order has no time for the sweep', async () => {
  const refused = database.query(`update core.orders set status = 'EXPIRED' where sweep_at is not null`);

  await expect(refused).rejects.toThrow('violates check constraint');
});
