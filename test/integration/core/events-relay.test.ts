import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Client } from '@connectrpc/connect';
import { fromBinary } from '@bufbuild/protobuf';
import pg from 'pg';
import { formatCursor } from '../../../src/core/events/event-cursor.ts';
import { publicId } from '../../support/ids.ts';
import { Environment, OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { ownNats } from '../../faults/stoppable-servers.ts';
import type { StoppableServer } from '../../faults/stoppable-servers.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { directPayment, registration } from '../../support/order-requests.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { readStream } from './broker-messages.ts';
import type { StoredMessage } from './broker-messages.ts';
import { beginLateEvent } from './late-event.ts';

let broker: StoppableServer;
let stack: Stack | undefined;

beforeEach(async () => {
  broker = await ownNats();
});

afterEach(async () => {
  await stack?.stop();
  stack = undefined;
  await broker.remove();
});

async function start(cores: number): Promise<{ stack: Stack; orders: Client<typeof OrderService> }> {
  stack = await startStack({
    ownProcesses: true,
    cores,
    facades: 0,
    settings: { GATEHOUSE_NATS_URL: broker.url },
  });
  return { stack, orders: stack.client(OrderService, 'writer') };
}

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

async function registerAll(
  orders: Client<typeof OrderService>,
  merchantId: string,
  orderNumbers: readonly string[],
): Promise<void> {
  await Promise.all(
    orderNumbers.map((orderNumber) => orders.registerOrder(registration({ merchantId, orderNumber }))),
  );
}

const orderNumberOf = ({ body }: StoredMessage): string =>
  fromBinary(OrderEventSchema, body).order?.orderNumber ?? '';

/** What the stream holds as soon as it has the events of all these orders. */
function untilStored(orderNumbers: readonly string[]): Promise<StoredMessage[]> {
  return waitUntil(`the broker has the events of ${orderNumbers.length} orders`, async () => {
    const stored = await readStream(broker.url);
    const there = new Set(stored.map(orderNumberOf));
    return orderNumbers.every((orderNumber) => there.has(orderNumber)) && stored;
  });
}

interface EventRow {
  readonly id: string;
  readonly payload: Buffer;
}

/** Ids and payloads of all committed events, in commit order. */
async function storedEvents(databaseUrl: string): Promise<EventRow[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<EventRow>(
    'select id, payload from core.order_events order by xid, position',
  );
  await client.end();
  return rows.map(({ id, payload }) => ({ id: publicId('evt', id), payload }));
}

/** Ends every session that holds an advisory lock in this database. */
async function endLockedSessions(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(
    `select pg_terminate_backend(pid) from pg_locks
     where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
  );
  await client.end();
}

const relays = ({ log }: GatehouseProcess): boolean => log.some(({ msg }) => msg === 'relaying events');

describe('the relay', () => {
  test('publishes each event under its own id, with the stored bytes, in commit order', async () => {
    await broker.start();
    const { stack: running, orders } = await start(1);
    const { id: merchantId } = await running.createMerchant();
    const late = await beginLateEvent(running.databaseUrl);
    await late.insert();
    await registerAll(orders, merchantId, ['R-1', 'R-2']);
    await late.commit();
    await late.end();
    await registerAll(orders, merchantId, numbered('R', 30));

    const messages = await untilStored(numbered('R', 30));

    const events = await storedEvents(running.databaseUrl);
    expect(messages.map(({ id, body }) => ({ id, payload: body }))).toEqual(events);
    expect(messages[0]?.id).toBe(late.eventId);
  });

  test('tells the environment, the merchant and what happened in the subject', async () => {
    await broker.start();
    const { stack: running, orders } = await start(1);
    const { id: merchantId } = await running.createMerchant();
    const environment = Environment.PRODUCTION;
    await orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'S-1' }));
    await orders.registerOrder(registration({ merchantId, orderNumber: 'S-2', environment }));

    const messages = await untilStored(['S-1', 'S-2']);

    expect(messages.map(({ subject }) => subject)).toEqual([
      `orders.sandbox.${merchantId}.created`,
      `orders.sandbox.${merchantId}.payment_started`,
      `orders.production.${merchantId}.created`,
    ]);
  });

  test('publishes the cursor with each event, for consumers that catch up from core later', async () => {
    await broker.start();
    const { stack: running, orders } = await start(1);
    const { id: merchantId } = await running.createMerchant();
    await orders.registerOrder(registration({ merchantId, orderNumber: 'C-1' }));
    await orders.registerOrder(registration({ merchantId, orderNumber: 'C-2' }));
    const [first] = await untilStored(['C-1', 'C-2']);

    const { entries } = await running
      .client(OrderService, 'webhooks')
      .listOrderEvents({ afterCursor: first?.cursor ?? '' });

    expect(entries.map(({ event }) => event?.order?.orderNumber)).toEqual(['C-2']);
  });

  test('names with each event the one before it, in an unbroken chain from the beginning', async () => {
    await broker.start();
    const { stack: running, orders } = await start(1);
    const { id: merchantId } = await running.createMerchant();
    await registerAll(orders, merchantId, numbered('P', 20));
    await untilStored(numbered('P', 20));
    await registerAll(orders, merchantId, numbered('Q', 20));

    const messages = await untilStored(numbered('Q', 20));

    const beginning = formatCursor({ xid: '0', position: '0' });
    expect(messages.map(({ previousCursor }) => previousCursor)).toEqual([
      beginning,
      ...messages.slice(0, -1).map(({ cursor }) => cursor),
    ]);
  });

  test('goes on by itself when the session that holds its lock is ended', async () => {
    await broker.start();
    const { stack: running, orders } = await start(1);
    const { id: merchantId } = await running.createMerchant();
    await registerAll(orders, merchantId, ['T-1']);
    await untilStored(['T-1']);

    await endLockedSessions(running.databaseUrl);
    await registerAll(orders, merchantId, ['T-2']);

    const messages = await untilStored(['T-2']);
    expect(messages).toHaveLength(2);
    expect(messages[1]?.previousCursor).toBe(messages[0]?.cursor);
    expect(await running.cores[0]?.stop()).toBe(0);
  });

  test('runs in one of two cores, and the other takes over when that one is killed: nothing is missing or doubled', async () => {
    await broker.start();
    const { stack: running, orders } = await start(2);
    const { id: merchantId } = await running.createMerchant();
    await registerAll(orders, merchantId, numbered('K', 50));
    await untilStored(numbered('K', 50));
    expect(running.cores.filter(relays)).toHaveLength(1);
    const relaying = running.cores.find(relays);
    const other = running.cores.find((core) => !relays(core));

    const registering = registerAll(orders, merchantId, numbered('L', 200));
    await relaying?.stop('SIGKILL');
    await registering;
    await registerAll(orders, merchantId, numbered('M', 50));

    const messages = await untilStored([...numbered('L', 200), ...numbered('M', 50)]);
    const events = await storedEvents(running.databaseUrl);
    expect(messages.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(messages).toHaveLength(300);
    expect(other !== undefined && relays(other)).toBe(true);
  });

  test('catches up when the broker was down for a while, during which orders are registered and read', async () => {
    await broker.start();
    const { stack: running, orders } = await start(2);
    const { id: merchantId } = await running.createMerchant();
    await registerAll(orders, merchantId, numbered('B', 10));
    await untilStored(numbered('B', 10));

    await broker.stop();
    await registerAll(orders, merchantId, numbered('D', 700));
    const { order } = await orders.getOrder({
      merchantId,
      environment: Environment.SANDBOX,
      key: { case: 'orderNumber', value: 'D-0' },
    });
    expect(order?.orderNumber).toBe('D-0');
    await broker.start();

    const messages = await untilStored(numbered('D', 700));
    const events = await storedEvents(running.databaseUrl);
    expect(messages.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });

  test('makes the stream again when the store of the broker was lost, and publishes on', async () => {
    await broker.start();
    const { stack: running, orders } = await start(1);
    const { id: merchantId } = await running.createMerchant();
    await registerAll(orders, merchantId, numbered('E', 5));
    await untilStored(numbered('E', 5));

    await broker.stop();
    await broker.wipe();
    await registerAll(orders, merchantId, numbered('F', 5));
    await broker.start();

    const messages = await untilStored(numbered('F', 5));
    expect(new Set(messages.map(orderNumberOf))).toEqual(new Set(numbered('F', 5)));
    const { entries } = await running.client(OrderService, 'webhooks').listOrderEvents({ merchantId });
    expect(entries).toHaveLength(10);
  });

  test('begins when the broker comes, after its core was started without one', async () => {
    const { stack: running, orders } = await start(1);
    const { id: merchantId } = await running.createMerchant();
    await registerAll(orders, merchantId, numbered('A', 5));

    await broker.start();

    const messages = await untilStored(numbered('A', 5));
    expect(messages).toHaveLength(5);
  });
});
