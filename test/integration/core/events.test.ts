import { describe, expect, test, beforeEach, afterEach } from '@jest/globals';
import { create, toBinary } from '@bufbuild/protobuf';
import { ConnectError, createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { storedId } from '../../support/ids.ts';
import {
  Environment,
  OrderEventSchema,
  OrderEventType,
  OrderStatus,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { Order } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type {
  OrderEventEntry,
  WatchOrderEventsResponse,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { failureOf, refusalOf, wrongFields, describeFailure } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { beginLateEvent } from './late-event.ts';
import { sharedStack, sharedClient, sharedConnection, sharedClosers } from '../../support/shared-stack.ts';
import type { LateEvent } from './late-event.ts';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import type { RpcFailure } from '../../support/rpc-failure.ts';
import { sql } from '../../support/sql.ts';

const stack = sharedStack({ cores: 2, facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
const followers = sharedClient(stack, OrderService, 'webhooks');
const database = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

async function register(merchantId: string, orderNumber: string, environment = Environment.SANDBOX) {
  const { order } = await orders.registerOrder(registration({ merchantId, orderNumber, environment }));
  if (order === undefined) throw new Error('no order in the answer');
  return order;
}

/**
 * Everything that is listed after `count` events are: a transaction of another test may hold some back for a moment.
 */
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
  test('starts with CREATED, the order as it was registered and the request that caused it', async () => {
    const headers = { 'x-request-id': 'the-request-7' };
    const request = registration({ merchantId, orderNumber: 'H-1' });
    const { order } = await orders.registerOrder(request, { headers });
    const [entry, ...others] = await listed({ merchantId, orderId: order?.orderId ?? '' }, 1);

    expect(others).toEqual([]);
    expect(entry?.event).toMatchObject({
      ...{ type: OrderEventType.CREATED, sequence: 1n, previousStatus: OrderStatus.UNSPECIFIED },
      ...{ requestId: 'the-request-7', eventId: expect.stringMatching(/^evt_[0-9a-z]{26}$/) },
    });
    expect(entry?.event?.order).toEqual(order);
    expect(entry?.event?.occurTime).toEqual(order?.createTime);
  });

  test('has the request id of each batch item, or that of the whole call when the former is invalid', async () => {
    const headers = { 'x-request-id': 'the-batch' };
    const requests = ['its-own', 'not an id', ''].map((requestId, index) =>
      registration({ merchantId, orderNumber: `H-B-${index}`, requestId }),
    );
    await orders.batchRegisterOrders({ requests }, { headers });

    const entries = await listed({ merchantId }, 3);

    const found = entries.map(({ event }) => [event?.order?.orderNumber, event?.requestId]);
    const expected = { 'H-B-0': 'its-own', 'H-B-1': 'the-batch', 'H-B-2': 'the-batch' };
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  test('counts 1, 2, 3 without a gap, and each event has the order after its change and is written in the same transaction', async () => {
    const registered = await register(merchantId, 'H-3');
    expect(await transactionsOf(registered)).toHaveLength(1);
    const request = directPayment({ merchantId, orderNumber: 'H-3' });
    const { order: paying } = await orders.startDirectPayment(request);
    const entries = await listed({ merchantId, orderId: registered.orderId }, 2);

    expect(entries.map(({ event }) => event?.sequence)).toEqual([1n, 2n]);
    expect(typesOf(entries)).toEqual([OrderEventType.CREATED, OrderEventType.PAYMENT_STARTED]);
    expect(entries.map(({ event }) => event?.order)).toEqual([registered, paying]);
    expect(entries[1]?.event?.paymentAttempt).toMatchObject({ status: PaymentAttemptStatus.REQUESTED });
    // The registration's event, and one transaction for the order, the attempt and the second event.
    expect(await transactionsOf(registered)).toHaveLength(2);
  });

  test('of a direct payment has CREATED and PAYMENT_STARTED from one commit', async () => {
    const { order } = await orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'H-4' }));

    const entries = await listed({ merchantId, orderId: order?.orderId ?? '' }, 2);

    expect(typesOf(entries)).toEqual([OrderEventType.CREATED, OrderEventType.PAYMENT_STARTED]);
    expect(await transactionsOf(order)).toHaveLength(1);
  });

  test('is unchanged, like the order, when the event cannot be written', async () => {
    const order = await register(merchantId, 'H-6');
    await database.query(sql`
      insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
      select merchant_id, environment, order_id, 2, gen_random_uuid(), 'CREATED', occurred_at, payload
      from core.order_events where order_id = ${storedId('ord', order.orderId)}`);

    const payment = orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'H-6' }));
    expect(await refusalOf(payment)).toBe('INTERNAL');
    const { order: after } = await orders.getOrder(orderNamed(merchantId, 'H-6'));
    expect(after).toEqual(order);
    const attempts = await database.query(sql`
      select 1 from core.payment_attempts where order_id = ${storedId('ord', order.orderId)}`);
    expect(attempts.rowCount).toBe(0);
  });
});

/** The different transactions that wrote the order, its attempts and its events. */
async function transactionsOf(order: Order | undefined): Promise<string[]> {
  const id = storedId('ord', order?.orderId ?? '');
  const { rows } = await database.query<{ xid: string }>(sql`
    select xmin::text as xid from core.orders where id = ${id}
    union select xmin::text from core.payment_attempts where order_id = ${id}
    union select xid::xid::text from core.order_events where order_id = ${id}`);
  return rows.map(({ xid }) => xid);
}

describe('the order of events', () => {
  let late: LateEvent;
  let start: string;
  beforeEach(async () => {
    // Its event comes after those of the tests before, of which a foreign transaction may hold some back.
    await register(merchantId, 'O-0');
    start = (await listed({ merchantId }, 1))[0]?.cursor ?? '';
    late = await beginLateEvent(stack.databaseUrl);
  });
  afterEach(() => late.end());

  test('is that of the transactions, not of the positions, and waits for one that began earlier and commits later', async () => {
    // The late event gets a position between those of the others.
    await register(merchantId, 'O-1');
    await late.insert();
    await register(merchantId, 'O-2');
    const before = await followers.listOrderEvents({ afterCursor: start });
    expect(before.entries).toEqual([]);
    await late.commit();
    const after = await listed({ afterCursor: before.nextCursor }, 3);

    expect(after[0]?.event?.eventId).toBe(late.eventId);
    expect(numbersOf(after).slice(1)).toEqual(['O-1', 'O-2']);
  });

  test('is not delayed by a transaction that was rolled back', async () => {
    await late.insert();
    await register(merchantId, 'R-1');
    await late.rollback();

    expect(numbersOf(await listed({ afterCursor: start }, 1))).toEqual(['R-1']);
  });
});

describe('listing events', () => {
  test('in pages returns each event once, in the sequence of one long page', async () => {
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
    const behind = await followers.listOrderEvents({ merchantId, afterCursor: whole[22]?.cursor ?? '' });
    expect(behind.entries).toEqual(whole.slice(23));
    expect(pages.flat()).toEqual(whole);
  });

  test('in pages of the largest size returns events that together are larger than a message can be', async () => {
    const reason = 'r'.repeat(9_000);
    const payload = toBinary(OrderEventSchema, create(OrderEventSchema, { order: { reason } }));
    await database.query(sql`
      insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
      select ${storedId('mer', merchantId)}, 'SANDBOX', gen_random_uuid(), 1, gen_random_uuid(), 'CREATED', now(), ${Buffer.from(payload)}
      from generate_series(1, 500)`);

    await listed({ merchantId }, 1);

    const cursors = new Set<string>();
    let afterCursor = '';
    for (let hasMore = true; hasMore;) {
      const page = await followers.listOrderEvents({ merchantId, afterCursor, pageSize: 500 });
      for (const { cursor } of page.entries) cursors.add(cursor);
      ({ hasMore, nextCursor: afterCursor } = page);
    }

    expect(cursors.size).toBe(500);
  });

  test('returns only the events of a merchant, an environment or an order', async () => {
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

  test('returns a cursor that advances past events that the filter excludes', async () => {
    const { id: quietId } = await stack.createMerchant();
    const { id: busyId } = await stack.createMerchant();
    const nothing = await followers.listOrderEvents({ merchantId: quietId });
    expect(nothing).toMatchObject({ entries: [], hasMore: false });
    await register(busyId, 'M-1');
    await listed({ merchantId: busyId }, 1);

    const { entries, nextCursor } = await followers.listOrderEvents({
      merchantId: quietId,
      afterCursor: nothing.nextCursor,
    });

    expect(entries).toEqual([]);
    const { entries: missed } = await followers.listOrderEvents({ afterCursor: nextCursor });
    expect(numbersOf(missed)).not.toContain('M-1');
    await register(quietId, 'M-2');
    expect(numbersOf(await listed({ merchantId: quietId, afterCursor: nextCursor }, 1))).toEqual(['M-2']);
  });

  test('refuses an unknown cursor and one of another database server, and reports all errors at once', async () => {
    const issueOf = async (cursor: string, form: 'utf8' | 'base64url' = 'utf8') => {
      const afterCursor = Buffer.from(cursor).toString(form);
      const { reason, issues } = await failureOf(followers.listOrderEvents({ afterCursor }));
      expect([reason, Object.keys(issues)]).toEqual(['INVALID_FIELDS', ['after_cursor']]);
      return issues['after_cursor'];
    };
    const none = 'must be a cursor that this gateway returned, or empty';

    expect(await issueOf('last-tuesday')).toBe(none);
    for (const cursor of ['1.9999999999999999999.1', '2.5.5', '1.-5.5', "1.5.5';--"])
      expect(await issueOf(cursor, 'base64url')).toBe(none);
    expect(await issueOf('1.900000000000.1', 'base64url')).toBe(
      'belongs to another database server, or to a later state of this one; start again without a cursor',
    );
    const wrong = { afterCursor: '!', merchantId: 'shop', orderId: 'A-1', pageSize: -1 };
    const fields = 'after_cursor merchant_id order_id page_size';
    expect(await wrongFields(followers.listOrderEvents(wrong))).toBe(fields);
  });

  test('of an order needs its merchant', async () => {
    const failure = await failureOf(followers.listOrderEvents({ orderId: 'ord_01jd0000000000000000000000' }));

    expect(failure.issues).toEqual({ merchant_id: 'is required with order_id' });
  });
});

/** The default number of connections of a core. */
const poolSize = 12;

type Orders = Client<typeof OrderService>;

const closeTransports = sharedClosers();

/** A consumer that is connected to one core only. */
function followerOf(address: string | undefined): Orders {
  const transport = createGrpcTransport({ addresses: [address ?? ''], token: stack.tokens.webhooks });
  closeTransports.push(transport.close);
  return createClient(OrderService, transport);
}

/** A watch whose messages are collected during the test. */
interface Watch {
  readonly messages: readonly WatchOrderEventsResponse[];
  readonly numbers: () => string[];
  /** Disconnects. */
  readonly leave: () => Promise<void>;
  /** The error with which the server ended it. */
  readonly ended: Promise<RpcFailure | 'without an error'>;
}

function watch(follower: Orders, request: Parameters<Orders['watchOrderEvents']>[0]): Watch {
  const leaving = new AbortController();
  const messages: WatchOrderEventsResponse[] = [];
  const read = async (): Promise<RpcFailure | 'without an error'> => {
    try {
      for await (const message of follower.watchOrderEvents(request, { signal: leaving.signal })) {
        messages.push(message);
      }
      return 'without an error';
    } catch (error) {
      if (error instanceof ConnectError) return describeFailure(error);
      throw error;
    }
  };
  const ended = read();
  return {
    messages,
    numbers: () => messages.flatMap(({ event }) => event?.order?.orderNumber ?? []),
    leave: async () => {
      leaving.abort();
      await ended;
    },
    ended,
  };
}

const span = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

describe('watching events', () => {
  test('omits earlier events with only_new', async () => {
    await register(merchantId, 'N-1');
    const follower = followerOf(stack.addresses[1]);
    await listed({ merchantId }, 1);
    const watched = watch(follower, { merchantId, onlyNew: true });
    await waitUntil('it has begun', () => watched.messages.length > 0);

    await register(merchantId, 'N-2');

    await waitUntil('the new event is there', () => watched.numbers().length > 0);
    expect(watched.numbers()).toEqual(['N-2']);
    await watched.leave();
  });

  test('refuses a cursor of another database server, which no event would follow, before it begins', async () => {
    const afterCursor = Buffer.from('1.900000000000.1').toString('base64url');
    const watched = watch(followerOf(stack.addresses[0]), { afterCursor });

    expect(await watched.ended).toMatchObject({ code: 'InvalidArgument', reason: 'INVALID_FIELDS' });
  });

  test('continues at another core after the last cursor, without loss or repeat, while orders are registered', async () => {
    const numbers = span('S', 120);
    const registering = Promise.all(
      numbers.map((orderNumber) => orders.registerOrder(registration({ merchantId, orderNumber }))),
    );
    const seen: string[] = [];
    let afterCursor = '';
    for (const round of [0, 1, 2, 3, 4, 5]) {
      const watched = watch(followerOf(stack.addresses[round % 2]), { merchantId, afterCursor });
      const wanted = Math.min(seen.length + 20, numbers.length) - seen.length;
      await waitUntil('some events', () => watched.numbers().length >= wanted);
      await watched.leave();
      // A consumer stores a message together with its cursor.
      for (const { cursor, event } of watched.messages) {
        seen.push(...(event?.order === undefined ? [] : [event.order.orderNumber]));
        afterCursor = cursor;
      }
    }
    await registering;

    expect(seen).toHaveLength(numbers.length);
    expect(new Set(seen)).toEqual(new Set(numbers));
    const { entries } = await followerOf(stack.addresses[0]).listOrderEvents({ merchantId, pageSize: 1000 });
    expect(entries.map(({ event }) => event?.order?.orderNumber)).toEqual(seen);
  });

  test('uses no resources after its client has disconnected', async () => {
    const follower = followerOf(stack.addresses[0]);
    const endedBefore = endedWatches();
    const watches = Array.from({ length: 200 }, () => watch(follower, { merchantId }));
    await waitUntil('all have begun', () => watches.every(({ messages }) => messages.length > 0));

    await Promise.all(watches.map(({ leave }) => leave()));

    await waitUntil('core has ended them all', () => endedWatches() - endedBefore === 200);
    await register(merchantId, 'X-1');
    expect(await connections()).toBeLessThanOrEqual(2 * poolSize);
  });
});

const endedWatches = (): number =>
  stack.cores[0]?.log.filter(({ rpc }) => rpc === 'OrderService/WatchOrderEvents').length ?? 0;

/** The connections of both cores to their database. */
async function connections(): Promise<number> {
  const { rows } = await database.query<{ count: number }>(`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name like 'gatehouse-core%'`);
  return rows[0]?.count ?? 0;
}
