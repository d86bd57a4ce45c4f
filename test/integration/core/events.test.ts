import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { fromBinary } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import pg from 'pg';
import { publicId, storedId } from '../../support/ids.ts';
import {
  Environment,
  OrderEventSchema,
  OrderEventType,
  OrderStatus,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { Order } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type { OrderEventEntry } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { beginLateEvent } from './late-event.ts';

let stack: Stack;
let orders: Client<typeof OrderService>;
let followers: Client<typeof OrderService>;
let database: pg.Client;

beforeAll(async () => {
  stack = await startStack({ cores: 1, facades: 0 });
  orders = stack.client(OrderService, 'writer');
  followers = stack.client(OrderService, 'webhooks');
  database = new pg.Client({ connectionString: stack.databaseUrl });
  await database.connect();
});

afterAll(async () => {
  await database.end();
  await stack.stop();
});

async function register(merchantId: string, orderNumber: string, environment = Environment.SANDBOX) {
  const { order } = await orders.registerOrder(registration({ merchantId, orderNumber, environment }));
  if (order === undefined) throw new Error('no order in the answer');
  return order;
}

/** Everything that can be listed once `count` events can be: a transaction elsewhere may hold some back for a moment. */
function listed(
  filter: Parameters<typeof followers.listOrderEvents>[0],
  count: number,
): Promise<OrderEventEntry[]> {
  return waitUntil(`${count} events are listed`, async () => {
    const { entries } = await followers.listOrderEvents({ pageSize: 1000, ...filter });
    return entries.length >= count && entries;
  });
}

const numbersOf = (entries: readonly OrderEventEntry[]): (string | undefined)[] =>
  entries.map(({ event }) => event?.order?.orderNumber);

const typesOf = (entries: readonly OrderEventEntry[]): (OrderEventType | undefined)[] =>
  entries.map(({ event }) => event?.type);

describe('the history of an order', () => {
  test('starts with CREATED, sequence 1, and the order as it was registered', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const order = await register(merchantId, 'H-1');

    const [entry, ...others] = await listed({ merchantId, orderId: order.orderId }, 1);

    expect(others).toEqual([]);
    expect(entry?.event).toMatchObject({
      type: OrderEventType.CREATED,
      sequence: 1n,
      previousStatus: OrderStatus.UNSPECIFIED,
    });
    expect(entry?.event?.order).toEqual(order);
    expect(entry?.event?.eventId).toMatch(/^evt_[0-9a-z]{26}$/);
    expect(entry?.event?.occurTime).toEqual(order.createTime);
  });

  test('has the request that caused each event', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const headers = { 'x-request-id': 'the-request-7' };
    await orders.registerOrder(registration({ merchantId, orderNumber: 'H-2' }), { headers });

    const [entry] = await listed({ merchantId }, 1);

    expect(entry?.event?.requestId).toBe('the-request-7');
  });

  test('has the request of each item of a batch; one that is no id counts as the whole call', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const headers = { 'x-request-id': 'the-batch' };
    const requests = ['its-own', 'not an id', ''].map((requestId, index) =>
      registration({ merchantId, orderNumber: `H-B-${index}`, requestId }),
    );
    await orders.batchRegisterOrders({ requests }, { headers });

    const entries = await listed({ merchantId }, 3);

    const found = entries.map(({ event }) => [event?.order?.orderNumber, event?.requestId]);
    expect(Object.fromEntries(found)).toEqual({
      'H-B-0': 'its-own',
      'H-B-1': 'the-batch',
      'H-B-2': 'the-batch',
    });
  });

  test('counts 1, 2, 3 without a gap through payments, each event with the order as it left it', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const registered = await register(merchantId, 'H-3');
    const { order: paying } = await orders.startDirectPayment(
      directPayment({ merchantId, orderNumber: 'H-3' }),
    );

    const entries = await listed({ merchantId, orderId: registered.orderId }, 2);

    expect(entries.map(({ event }) => event?.sequence)).toEqual([1n, 2n]);
    expect(typesOf(entries)).toEqual([OrderEventType.CREATED, OrderEventType.PAYMENT_STARTED]);
    expect(entries.map(({ event }) => event?.order)).toEqual([registered, paying]);
    expect(entries[1]?.event?.paymentAttempt).toMatchObject({ status: PaymentAttemptStatus.REQUESTED });
  });

  test('of a direct payment has CREATED and PAYMENT_STARTED from one commit', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const { order } = await orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'H-4' }));

    const entries = await listed({ merchantId, orderId: order?.orderId ?? '' }, 2);

    expect(typesOf(entries)).toEqual([OrderEventType.CREATED, OrderEventType.PAYMENT_STARTED]);
    expect(await transactionsOf(order)).toHaveLength(1);
  });

  test('is written by the transaction that changes the order and the attempt', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const order = await register(merchantId, 'H-5');
    expect(await transactionsOf(order)).toHaveLength(1);

    await orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'H-5' }));

    // The registration's event, and one transaction for the order, the attempt and the second event.
    expect(await transactionsOf(order)).toHaveLength(2);
  });

  test('and the order do not change when the event cannot be written', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const order = await register(merchantId, 'H-6');
    await database.query(
      `insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
       select merchant_id, environment, order_id, 2, gen_random_uuid(), 'CREATED', occurred_at, payload
       from core.order_events where order_id = $1`,
      [storedId('ord', order.orderId)],
    );

    const failure = await failureOf(
      orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'H-6' })),
    );

    expect(failure.reason).toBe('INTERNAL');
    const { order: after } = await orders.getOrder({
      merchantId,
      environment: Environment.SANDBOX,
      key: { case: 'orderId', value: order.orderId },
    });
    expect(after).toEqual(order);
    const attempts = await database.query('select 1 from core.payment_attempts where order_id = $1', [
      storedId('ord', order.orderId),
    ]);
    expect(attempts.rowCount).toBe(0);
  });

  test('is stored as the bytes that are handed out', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const order = await register(merchantId, 'H-7');

    const [entry] = await listed({ merchantId }, 1);

    const { rows } = await database.query<{ id: string; payload: Buffer }>(
      'select id, payload from core.order_events where order_id = $1',
      [storedId('ord', order.orderId)],
    );
    expect(rows.map(({ payload }) => fromBinary(OrderEventSchema, payload))).toEqual([entry?.event]);
    expect(publicId('evt', rows[0]?.id ?? '')).toBe(entry?.event?.eventId);
  });
});

/** The different transactions that wrote the order, its attempts and its events. */
async function transactionsOf(order: Order | undefined): Promise<string[]> {
  const id = storedId('ord', order?.orderId ?? '');
  const { rows } = await database.query<{ xid: string }>(
    `select xmin::text as xid from core.orders where id = $1
     union select xmin::text from core.payment_attempts where order_id = $1
     union select xid::xid::text from core.order_events where order_id = $1`,
    [id],
  );
  return rows.map(({ xid }) => xid);
}

describe('the order of events', () => {
  test('is that of the transactions: one that began earlier and commits later is waited for', async () => {
    const { nextCursor: start } = await followers.listOrderEvents({ pageSize: 1000 });
    const late = await beginLateEvent(stack.databaseUrl);
    try {
      await late.insert();
      const { id: merchantId } = await stack.createMerchant();
      await register(merchantId, 'O-1');
      await register(merchantId, 'O-2');

      const before = await followers.listOrderEvents({ afterCursor: start });
      await late.commit();
      const after = await listed({ afterCursor: before.nextCursor }, 3);

      expect(before.entries).toEqual([]);
      expect(after.map(({ event }) => event?.eventId)[0]).toBe(late.eventId);
      expect(numbersOf(after).slice(1)).toEqual(['O-1', 'O-2']);
    } finally {
      await late.end();
    }
  });

  test('does not follow the positions, which a later transaction may draw first', async () => {
    const { nextCursor: start } = await followers.listOrderEvents({ pageSize: 1000 });
    const late = await beginLateEvent(stack.databaseUrl);
    try {
      const { id: merchantId } = await stack.createMerchant();
      await register(merchantId, 'P-1');
      await late.insert();
      await register(merchantId, 'P-2');
      await late.commit();

      const entries = await listed({ afterCursor: start }, 3);

      expect(entries.map(({ event }) => event?.eventId)[0]).toBe(late.eventId);
      expect(numbersOf(entries).slice(1)).toEqual(['P-1', 'P-2']);
    } finally {
      await late.end();
    }
  });

  test('is no longer held up by a transaction that was rolled back', async () => {
    const { nextCursor: start } = await followers.listOrderEvents({ pageSize: 1000 });
    const late = await beginLateEvent(stack.databaseUrl);
    await late.insert();
    const { id: merchantId } = await stack.createMerchant();
    await register(merchantId, 'R-1');

    await late.end();

    expect(numbersOf(await listed({ afterCursor: start }, 1))).toEqual(['R-1']);
  });
});

describe('listing events', () => {
  test('in pages gives each event once, in the order of one long page', async () => {
    const { id: merchantId } = await stack.createMerchant();
    await Promise.all(Array.from({ length: 25 }, (_, index) => register(merchantId, `L-${index}`)));
    const whole = await listed({ merchantId }, 25);

    const pages: OrderEventEntry[][] = [];
    let afterCursor = '';
    for (let hasMore = true; hasMore;) {
      const page = await followers.listOrderEvents({ merchantId, afterCursor, pageSize: 10 });
      pages.push(page.entries);
      ({ hasMore, nextCursor: afterCursor } = page);
    }

    expect(pages.map(({ length }) => length)).toEqual([10, 10, 5]);
    expect(pages.flat()).toEqual(whole);
  });

  test('goes on behind any single entry by its own cursor', async () => {
    const { id: merchantId } = await stack.createMerchant();
    for (const number of ['C-1', 'C-2', 'C-3']) await register(merchantId, number);
    const [first] = await listed({ merchantId }, 3);

    const { entries } = await followers.listOrderEvents({ merchantId, afterCursor: first?.cursor ?? '' });

    expect(numbersOf(entries)).toEqual(['C-2', 'C-3']);
  });

  test('gives only those of a merchant, an environment or an order', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const { id: otherId } = await stack.createMerchant();
    const order = await register(merchantId, 'F-1');
    await register(merchantId, 'F-2', Environment.PRODUCTION);
    await register(otherId, 'F-3');
    await listed({ merchantId: otherId }, 1);

    const of = async (filter: Parameters<typeof followers.listOrderEvents>[0]) =>
      numbersOf((await followers.listOrderEvents({ pageSize: 1000, ...filter })).entries);

    expect(await of({ merchantId })).toEqual(['F-1', 'F-2']);
    expect(await of({ merchantId, environment: Environment.PRODUCTION })).toEqual(['F-2']);
    expect(await of({ merchantId, orderId: order.orderId })).toEqual(['F-1']);
    expect(await of({ merchantId: otherId, orderId: order.orderId })).toEqual([]);
    expect(await of({ environment: Environment.PRODUCTION })).not.toContain('F-1');
  });

  test('gives a cursor that moves on past the events that the filter leaves out', async () => {
    const { id: quietId } = await stack.createMerchant();
    const { id: busyId } = await stack.createMerchant();
    const { nextCursor: before } = await followers.listOrderEvents({ merchantId: quietId });
    await register(busyId, 'M-1');
    await listed({ merchantId: busyId }, 1);

    const { entries, nextCursor } = await followers.listOrderEvents({
      merchantId: quietId,
      afterCursor: before,
    });

    expect(entries).toEqual([]);
    const { entries: missed } = await followers.listOrderEvents({ afterCursor: nextCursor });
    expect(numbersOf(missed)).not.toContain('M-1');
    await register(quietId, 'M-2');
    expect(numbersOf(await listed({ merchantId: quietId, afterCursor: nextCursor }, 1))).toEqual(['M-2']);
  });

  test('gives a cursor to ask again with when there is nothing new', async () => {
    const { id: merchantId } = await stack.createMerchant();

    const { entries, nextCursor, hasMore } = await followers.listOrderEvents({ merchantId });

    expect({ entries, hasMore }).toEqual({ entries: [], hasMore: false });
    expect(nextCursor).not.toBe('');
  });

  test.each([
    ['no cursor at all', 'last-tuesday'],
    ['numbers that are too large', Buffer.from('1.9999999999999999999.1').toString('base64url')],
    ['another version', Buffer.from('2.5.5').toString('base64url')],
    ['a negative number', Buffer.from('1.-5.5').toString('base64url')],
    ['SQL', Buffer.from("1.5.5';--").toString('base64url')],
  ])('refuses a cursor that is %s', async (_what, afterCursor) => {
    expect(await failureOf(followers.listOrderEvents({ afterCursor }))).toEqual({
      code: 'InvalidArgument',
      reason: 'INVALID_FIELDS',
      issues: { after_cursor: 'must be a cursor that this gateway gave out, or empty' },
    });
  });

  test('refuses a cursor of a transaction that its database server has not begun', async () => {
    const afterCursor = Buffer.from('1.900000000000.1').toString('base64url');

    expect(await failureOf(followers.listOrderEvents({ afterCursor }))).toEqual({
      code: 'InvalidArgument',
      reason: 'INVALID_FIELDS',
      issues: {
        after_cursor:
          'is of another database server, or of a later state of this one; start again without a cursor',
      },
    });
  });

  test('names every field that is wrong', async () => {
    const { issues } = await failureOf(
      followers.listOrderEvents({ afterCursor: '!', merchantId: 'shop', orderId: 'A-1', pageSize: -1 }),
    );

    expect(Object.keys(issues).toSorted()).toEqual(['after_cursor', 'merchant_id', 'order_id', 'page_size']);
  });

  test('of an order needs its merchant', async () => {
    const failure = await failureOf(followers.listOrderEvents({ orderId: 'ord_01jd0000000000000000000000' }));

    expect(failure.issues).toEqual({ merchant_id: 'is required with order_id' });
  });
});
