import { describe, expect, test, beforeEach } from '@jest/globals';
import { ConnectError, createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type { WatchOrderEventsResponse } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { registration } from '../../support/order-requests.ts';
import { describeFailure } from '../../support/rpc-failure.ts';
import type { RpcFailure } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { beginLateEvent } from './late-event.ts';
import { sharedStack, sharedClient, sharedConnection, sharedClosers } from '../../support/shared-stack.ts';

/** The default number of connections of a core. */
const poolSize = 12;

type Orders = Client<typeof OrderService>;

const stack = sharedStack({ cores: 2, facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
const database = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

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

async function registerAll(merchantId: string, orderNumbers: readonly string[]): Promise<void> {
  for (const orderNumber of orderNumbers)
    await orders.registerOrder(registration({ merchantId, orderNumber }));
}

const span = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

describe('watching events', () => {
  test('sends the stored events, and then the new ones', async () => {
    await registerAll(merchantId, ['W-1', 'W-2']);
    const watched = watch(followerOf(stack.addresses[0]), { merchantId });
    await waitUntil('it has caught up', () => watched.numbers().length === 2);

    await registerAll(merchantId, ['W-3']);

    await waitUntil('the new event is there', () => watched.numbers().length === 3);
    expect(watched.numbers()).toEqual(['W-1', 'W-2', 'W-3']);
    await watched.leave();
  });

  test('starts with a heartbeat when there are no events', async () => {
    const watched = watch(followerOf(stack.addresses[0]), { merchantId });

    const first = await waitUntil('the first message', () => watched.messages[0]);
    expect(first.event).toBeUndefined();
    expect(first.cursor).not.toBe('');
    await watched.leave();
  });

  test('omits earlier events with only_new', async () => {
    await registerAll(merchantId, ['N-1']);
    const follower = followerOf(stack.addresses[1]);
    await waitUntil('it is there', async () => {
      const { entries } = await follower.listOrderEvents({ merchantId });
      return entries.length > 0;
    });
    const watched = watch(follower, { merchantId, onlyNew: true });
    await waitUntil('it has begun', () => watched.messages.length > 0);

    await registerAll(merchantId, ['N-2']);

    await waitUntil('the new event is there', () => watched.numbers().length > 0);
    expect(watched.numbers()).toEqual(['N-2']);
    await watched.leave();
  });

  test('refuses an invalid cursor before it begins', async () => {
    const watched = watch(followerOf(stack.addresses[0]), { afterCursor: 'yesterday' });

    expect(await watched.ended).toMatchObject({ code: 'InvalidArgument', reason: 'INVALID_FIELDS' });
  });

  test('refuses a cursor of another database server, after which no event would follow', async () => {
    const afterCursor = Buffer.from('1.900000000000.1').toString('base64url');
    const watched = watch(followerOf(stack.addresses[0]), { afterCursor });

    expect(await watched.ended).toMatchObject({ code: 'InvalidArgument', reason: 'INVALID_FIELDS' });
  });

  test('waits for a transaction that began earlier and commits later', async () => {
    const watched = watch(followerOf(stack.addresses[0]), { onlyNew: true });
    await waitUntil('it has begun', () => watched.messages.length > 0);
    const late = await beginLateEvent(stack.databaseUrl);
    await late.insert();
    await registerAll(merchantId, ['T-1', 'T-2']);
    expect(watched.numbers()).toEqual([]);

    await late.commit();

    await waitUntil('all are there', () => watched.numbers().includes('T-2'));
    const ids = watched.messages.flatMap(({ event }) => event ?? []);
    expect(ids.map(({ eventId, order }) => order?.orderNumber ?? eventId)).toEqual([
      late.eventId,
      'T-1',
      'T-2',
    ]);
    await watched.leave();
    await late.end();
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
    await registerAll(merchantId, ['X-1']);
    expect(await connections()).toBeLessThanOrEqual(2 * poolSize);
  });
});

const endedWatches = (): number =>
  stack.cores[0]?.log.filter(({ rpc }) => rpc === 'OrderService/WatchOrderEvents').length ?? 0;

/** The connections of both cores to their database. */
async function connections(): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and application_name like 'gatehouse-core%'`,
  );
  return rows[0]?.count ?? 0;
}
