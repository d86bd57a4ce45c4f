import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { nanos } from 'nats';
import type pg from 'pg';
import { formatCursor } from '../../../src/contract/event-cursor.ts';
import { openEventBus } from '../../../src/contract/event-bus.ts';
import type { EventBus } from '../../../src/contract/event-bus.ts';
import { newRandomId, publicId } from '../../../src/contract/public-id.ts';
import type { StoredId } from '../../../src/contract/public-id.ts';
import type { Database } from '../../../src/core/database/database.ts';
import { eraseOrders } from '../../../src/core/erasure/erase-orders.ts';
import { createForgetPublished } from '../../../src/core/erasure/forget-published.ts';
import type { ForgetPublished } from '../../../src/core/erasure/forget-published.ts';
import { relayEvents } from '../../../src/core/events/relay-events.ts';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { startTemporaryNats } from '../../../src/main/local/temporary-servers.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import type { StoredStream } from '../../../src/platform/nats/stored-events.ts';
import type { EventMessage } from '../../../src/platform/nats/publish-stored.ts';
import { createWakeSignal } from '../../../src/platform/wake-signal.ts';
import { storedId } from '../../support/ids.ts';
import { shared, sharedCoreDatabase, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { connectTo, readStream } from './broker-messages.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import { untilSealed } from './verified-events.ts';

// Copies of erased events in the broker, in the orders and at the times in which they can be stored. The core of the stack makes orders and
// is then stopped, so that each test relays and erases step by step.

const logger = createLogger({ process: 'test', instance: 'test', level: 'silent' });
const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const database = sharedCoreDatabase('forget-published', () => stack.databaseUrl, 6);
/** For a relay that continues long after it has read. */
const frozen = sharedCoreDatabase('frozen', () => stack.databaseUrl, 2);
const broker = shared(startTemporaryNats);
const bus = shared<EventBus>(async () => {
  const opened = openEventBus({ url: broker.url, name: 'test', logger });
  await waitUntil('the broker is connected', opened.isConnected);
  return opened;
});

const duplicateWindowMs = 200;
/** An empty stream, which drops repeats for a much shorter time than core's own. */
async function emptyStream(): Promise<void> {
  const connection = await connectTo(broker.url);
  const manager = await connection.jetstreamManager();
  await manager.streams.delete('ORDERS').catch(() => undefined);
  await manager.streams.add({
    name: 'ORDERS',
    subjects: ['orders.>'],
    duplicate_window: nanos(duplicateWindowMs),
  });
  await connection.close();
}

const storeRelayCursor = (xid: number, position: number) =>
  database.pool.query(sql`insert into core.event_relay values ('ORDERS', ${xid}::text::xid8, ${position})
    on conflict (stream) do update set xid = excluded.xid, position = excluded.position`);

type PublishedEvent = Parameters<ForgetPublished>[0][number];

const forgetFrom = (from: Parameters<typeof createForgetPublished>[0]['bus']) =>
  createForgetPublished({ database, bus: from, now: () => new Date() });
/** An event of a merchant, by default a published one of the present. */
const erasedEvent = (own: Partial<PublishedEvent> = {}): PublishedEvent => ({
  id: storedId('evt', newRandomId('evt', new Date())),
  merchantId: storedId('mer', newRandomId('mer', new Date())),
  ...{ environment: 'SANDBOX', type: 'CREATED', xid: '5', position: '1', occurredAt: new Date(), ...own },
});

test('every copy of an event is removed, wherever it is in the stream, and no other event', async () => {
  await emptyStream();
  const forgetPublished = forgetFrom(bus);
  const now = new Date();
  const merchant = newRandomId('mer', now);
  const erased = [1, 2, 3].map((xid) =>
    erasedEvent({
      merchantId: storedId('mer', merchant),
      ...{ type: xid === 1 ? 'CREATED' : 'COMPLETED', xid: String(xid) },
    }),
  );
  const message = (id: string, type: string, xid: string, of: string = merchant): EventMessage => ({
    subject: `orders.sandbox.${of}.${type.toLowerCase()}`,
    id,
    headers: { 'Gatehouse-Cursor': formatCursor({ xid, position: '1' }) },
    body: randomBytes(16),
  });
  const [first, second, third] = erased.map(({ id, type, xid }) => message(publicId('evt', id), type, xid));
  const others = [
    // Other databases, which count from elsewhere, and other events of the merchant.
    message(newRandomId('evt', now), 'CREATED', '9000', newRandomId('mer', now)),
    message(newRandomId('evt', now), 'COMPLETED', '1', newRandomId('mer', now)),
    message(newRandomId('evt', now), 'COMPLETED', '4'),
  ];
  await bus.publish([others[0], third, others[1], first, second, others[2]].flatMap((each) => each ?? []));
  await waitUntil('the broker stores repeats', async () => {
    // As after a restore: the event has another cursor, and the broker no longer knows its id.
    await bus.publish(erased.map(({ id, type }) => message(publicId('evt', id), type, '7000')));
    return (await readStream(broker.url)).length >= 9;
  });

  await storeRelayCursor(3, 1);

  expect(await forgetPublished(erased)).toBe(true);
  expect((await readStream(broker.url)).map(({ id }) => id)).toEqual(others.map(({ id }) => id));
});

test('events that are older than the broker stores are not searched for, even while it is unavailable', async () => {
  let searches = 0;
  const storedStream = () => Promise.resolve(void (searches += 1));
  const forgetPublished = forgetFrom({ stream: 'ORDERS', storedStream });
  await storeRelayCursor(5, 1);
  const event = (days: number) => erasedEvent({ occurredAt: new Date(Date.now() - days * 24 * 60 * 60_000) });

  expect(await forgetPublished([event(15), event(400)])).toBe(true);
  expect(searches).toBe(0);
  // Published a week late, and stored for a week.
  expect(await forgetPublished([event(13)])).toBe(false);
  expect(searches).toBe(1);
});

test('many messages of one subject are read in parts at once, each of them once', async () => {
  const event = erasedEvent();
  const [wanted, last] = [777, 1_000];
  const asked: number[] = [];
  const removed: number[] = [];
  let [running, most] = [0, 0];
  const stream: StoredStream = {
    created: '2026-01-31T12:00:00Z',
    range: { first: 1, last },
    read: () => Promise.resolve([]),
    next: async (subject, number) => {
      if (subject !== '>') asked.push(number);
      most = Math.max(most, (running += 1));
      await nextTurn();
      running -= 1;
      const header = () => (number === wanted ? publicId('evt', event.id) : '');
      return number > last ? undefined : { number, storedAt: new Date(), body: Buffer.of(), header };
    },
    remove: (number) => Promise.resolve(void removed.push(number)),
  };
  await storeRelayCursor(5, 1);

  await forgetFrom({ stream: 'ORDERS', storedStream: () => Promise.resolve(stream) })([event]);

  expect(removed).toEqual([wanted]);
  expect(asked.toSorted((a, b) => a - b)).toEqual(Array.from({ length: last }, (_, index) => index + 1));
  expect(most).toBeGreaterThan(20);
});

const digits = '911775544';
const messagesWithNumber = async (): Promise<number> =>
  (await readStream(broker.url)).filter(({ body }) => body.toString('latin1').includes(digits)).length;

/** Paid orders whose events are sealed, in a database whose core has stopped. */
const site = shared(
  async () => {
    const { id: merchantId } = await stack.createMerchant();
    const pay = async (orderNumber: string) => {
      const payment = await desk.startDirect({ merchantId, orderNumber, phone: `0${digits}` });
      await desk.settle(payment, outcomes.completed(`t-${orderNumber}`));
      return { orderId: storedId('ord', payment.orderId), events: (await desk.history(payment)).length };
    };
    const orders = [await pay('1'), await pay('2')] as const;
    await untilSealed(stack.client(AuditService, 'reader'), { merchantId });
    await stack.cores[0]?.stop();
    return { merchantId, orders };
  },
  () => undefined,
);

const erase = (orderId: StoredId<'ord'>) =>
  eraseOrders(
    {
      database,
      erasureKey: randomBytes(32),
      forgetPublished: forgetFrom(bus),
      now: () => new Date(),
      logger,
    },
    { merchantId: storedId('mer', site.merchantId), orderIds: [orderId], requestedIds: new Set() },
    { aborted: false },
  );

/** Relays all events from the beginning. Returns how to stop. */
async function startRelay(from: Database, publish: EventBus['publish']) {
  await emptyStream();
  await database.pool.query('delete from core.event_relay');
  const stop = new AbortController();
  const publisher = { stream: 'ORDERS', publish };
  const options = {
    ...{ database: from, publisher, signal: createWakeSignal(), logger },
    mayRelay: () => true,
    continuesStream: () => Promise.resolve(true),
  };
  const relaying = relayEvents(options, stop.signal);
  return async () => {
    stop.abort();
    await relaying;
  };
}

const untilRelayed = () =>
  waitUntil('the relay has stored its cursor', async () => {
    const { rowCount } = await database.pool.query('select from core.event_relay');
    return rowCount === 1;
  });

const waits = (orderId: string) => ({ erased: [], obstacles: new Map([[orderId, 'BROKER_UNAVAILABLE']]) });

test('an erasure ends only when the relay has published the events that it read before the erasure', async () => {
  const [{ orderId }, other] = site.orders;
  const read = Promise.withResolvers<undefined>();
  const mayPublish = Promise.withResolvers<undefined>();
  const stopRelay = await startRelay(database, async (messages) => {
    read.resolve(undefined);
    await mayPublish.promise;
    await bus.publish(messages);
  });
  await read.promise;

  const during = await erase(orderId);
  const before = await messagesWithNumber();
  mayPublish.resolve(undefined);
  await untilRelayed();
  const published = await messagesWithNumber();
  const after = await erase(orderId);
  await stopRelay();

  expect(during).toEqual(waits(orderId));
  expect([before, published]).toEqual([0, site.orders[0].events + other.events]);
  expect(after).toEqual({ erased: [orderId], obstacles: new Map() });
  expect(await messagesWithNumber()).toBe(other.events);
});

test('a relay does not publish events that it read so long ago that another core may relay by now', async () => {
  const [, { orderId }] = site.orders;
  const read = Promise.withResolvers<undefined>();
  const mayContinue = Promise.withResolvers<undefined>();
  frozen.pool.on('acquire', (client) => {
    const query = client.query.bind(client);
    client.query = (async (statement: string | pg.QueryConfig, values?: unknown[]) => {
      const result = await query(statement, values);
      if (typeof statement === 'object' && statement.name === 'relay-events') {
        read.resolve(undefined);
        await mayContinue.promise;
      }
      return result;
    }) as typeof client.query;
  });
  const published: boolean[] = [];
  const clock = performance.now.bind(performance);
  try {
    const stopRelay = await startRelay(frozen, (messages) => {
      published.push(messages.some(({ body }) => Buffer.from(body).toString('latin1').includes(digits)));
      return bus.publish(messages);
    });
    await read.promise;
    const during = await erase(orderId);
    performance.now = () => clock() + 20_000;
    mayContinue.resolve(undefined);
    await untilRelayed();
    await stopRelay();

    expect(during).toEqual(waits(orderId));
    expect(published).toEqual([false]);
    expect(await erase(orderId)).toEqual({ erased: [orderId], obstacles: new Map() });
  } finally {
    performance.now = clock;
  }
});
