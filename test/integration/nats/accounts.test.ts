import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Empty, ErrorCode, Events, connect } from 'nats';
import type { NatsConnection } from 'nats';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type { WakeTopic } from '../../../src/contract/event-bus.ts';
import { startProcess } from '../../support/gatehouse-process.ts';
import { registration } from '../../support/order-requests.ts';
import { startStack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { createDataFolder, runExample } from '../examples/run-example.ts';
import { openNatsDesk, readersApi, subjects } from './nats-desk.ts';
import type { NatsUser } from './nats-with-accounts.ts';
import { shared } from '../../support/shared-stack.ts';

const desk = shared(openNatsDesk);

afterEach(() => desk.closeAll());

/** Whether the broker allows a message to this subject. */
async function publishing(connection: NatsConnection, subject: string): Promise<string> {
  const refused = firstError(connection);
  connection.publish(subject, Empty);
  // A refusal comes before the first answer. The client reports it within the time of the second one.
  const answered = connection.flush().then(() => connection.flush());
  return Promise.race([refused, answered.then(() => 'accepted')]);
}

/** Whether the broker allows the subscription. */
async function subscribing(connection: NatsConnection, subject: string): Promise<string> {
  const refused = new Promise<string>((done) => {
    const subscription = connection.subscribe(subject, { callback: (error) => done(error?.code ?? '') });
    desk.closing.push(async () => subscription.unsubscribe());
  });
  // The broker answers in sequence, so a refusal comes before this answer.
  return Promise.race([refused, connection.flush().then(() => 'accepted')]);
}

describe('core', () => {
  test.each<[WakeTopic, NatsUser]>([
    ['order_events', 'core'],
    ['payment_attempts', 'wallets'],
  ])('wakes other processes for %s, which %s receives', async (topic, listener) => {
    const core = await desk.busOf('core');
    const other = await desk.busOf(listener);
    const heard = new Set<string>();
    other.onWake(topic, (part) => heard.add(part));

    await waitUntil('it is heard, and so is a part of it', () => {
      core.wake(topic);
      core.wake(topic, 'part');
      return heard.size === 2;
    });
    expect([...heard].sort()).toEqual(['', 'part']);
  });
});

describe('webhooks', () => {
  test('reads all events through its consumer, acknowledges them, and wakes other webhooks processes', async () => {
    const bus = await desk.busOf('webhooks');
    const stop = new AbortController();
    desk.closing.push(async () => stop.abort());
    const inbox = bus.eventConsumer({ name: 'webhooks', ackWaitMs: 30_000 }).listen(stop.signal);
    await waitUntil('it listens', inbox.isOpen);

    await desk.publishAsCore();

    const read: string[] = [];
    await waitUntil('it has read them', async () => {
      const { events, acknowledge } = await inbox.take(10, 1_000);
      acknowledge();
      read.push(...events.map(({ body }) => Buffer.from(body).toString()));
      return read.length >= 3;
    });
    expect(read).toEqual(Object.values(subjects));
    await waitUntil(
      'they are acknowledged',
      async () => (await desk.consumerState('webhooks')).num_ack_pending === 0,
    );
    const other = await desk.busOf('webhooks');
    let heard = false;
    other.onWake('webhook_deliveries', () => (heard = true));
    await waitUntil('the ring is heard', () => {
      bus.wake('webhook_deliveries');
      return heard;
    });
  });
});

const mayNotPublish: readonly (readonly [NatsUser, string])[] = [
  ['core', '$JS.API.STREAM.DELETE.ORDERS $JS.API.STREAM.PURGE.ORDERS $JS.API.STREAM.UPDATE.ORDERS'],
  ['core', '$JS.API.STREAM.CREATE.OTHER $JS.API.STREAM.MSG.GET.OTHER $JS.API.STREAM.MSG.DELETE.OTHER'],
  ['core', '$JS.API.CONSUMER.CREATE.ORDERS.core gatehouse.wake.webhook_deliveries anything'],
  ['webhooks', `${subjects.sandbox} ${subjects.production} orders.x $JS.API.STREAM.DELETE.ORDERS`],
  ['webhooks', '$JS.API.STREAM.PURGE.ORDERS $JS.API.STREAM.MSG.DELETE.ORDERS $JS.API.STREAM.UPDATE.ORDERS'],
  ['webhooks', '$JS.API.CONSUMER.CREATE.ORDERS.another $JS.API.CONSUMER.DELETE.ORDERS.sandbox-reader'],
  ['webhooks', '$JS.API.CONSUMER.MSG.NEXT.ORDERS.sandbox-reader gatehouse.wake.order_events'],
  [
    'wallets',
    `${subjects.sandbox} gatehouse.wake.payment_attempts $JS.API.INFO $JS.API.STREAM.DELETE.ORDERS`,
  ],
];
const mayNotSubscribe: readonly (readonly [NatsUser, string])[] = [
  ['core', 'orders.> _INBOX_webhooks.> _INBOX.> > $JS.>'],
  ['webhooks', 'orders.> _INBOX_core.> _INBOX.> >'],
  ['wallets', 'orders.> _INBOX_core.> >'],
];
const each = (table: typeof mayNotPublish) =>
  table.flatMap(([user, all]) => all.split(' ').map((subject) => [user, subject] as const));

test.each(each(mayNotPublish))('%s may not publish %s', async (user, subject) => {
  expect(await publishing(await desk.connectAs(user), subject)).toBe(ErrorCode.PermissionsViolation);
});

test.each(each(mayNotSubscribe))('%s may not subscribe to %s', async (user, subject) => {
  expect(await subscribing(await desk.connectAs(user), subject)).toBe(ErrorCode.PermissionsViolation);
});

test.each([
  ['nobody', {}],
  ['a user without a password', { user: 'core' }],
  ['a wrong password', { user: 'core', pass: 'n' }],
  ["another user's password", { user: 'core', pass: 'n12e4-wallets' }],
])('%s cannot connect', async (_who, login) => {
  const refused = connect({ servers: desk.nats.address, reconnect: false, ...login });

  await expect(refused).rejects.toThrow(/Authorization Violation/i);
});

test("with these users, an order's event reaches webhooks and another team from core", async () => {
  const settings = { GATEHOUSE_NATS_URL: desk.nats.urlOf('core') };
  const stack = await startStack({ cores: 1, facades: 0, settings });
  desk.closing.push(stack.stop);
  const webhooks = await startProcess('webhooks', {
    ...stack.coreSettings,
    GATEHOUSE_NATS_URL: desk.nats.urlOf('webhooks'),
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.webhooks,
    GATEHOUSE_WEBHOOKS_GRPC_PORT: '0',
    GATEHOUSE_WEBHOOKS_CONNECT_PORT: '0',
    GATEHOUSE_WEBHOOK_SECRET_KEYS: `test:${randomBytes(32).toString('hex')}`,
  });
  desk.closing.push(() => webhooks.stop());
  const { id: merchantId } = await stack.createMerchant();
  const { folder, close } = await createDataFolder(stack);
  desk.closing.push(close);
  const example = runExample('consume-order-stream.ts', [join(folder, 'cursor')], {
    GATEHOUSE_DATA_DIR: folder,
    GATEHOUSE_NATS_URL: desk.nats.urlOf('sandbox-reader'),
    GATEHOUSE_NATS_API_PREFIX: readersApi,
  });
  desk.closing.push(example.kill);
  const before = (await desk.consumerState('webhooks')).delivered.consumer_seq;
  const readBefore = (await desk.consumerState('sandbox-reader')).delivered.consumer_seq;

  await stack.client(OrderService, 'writer').registerOrder(registration({ merchantId, orderNumber: 'N-1' }));

  await waitUntil('webhooks has taken the event', async () => {
    const { delivered, num_ack_pending: open } = await desk.consumerState('webhooks');
    return delivered.consumer_seq > before && open === 0;
  });
  await waitUntil('the example has printed it', () => example.lines[0]?.startsWith('N-1 '));
  await waitUntil('the example has acknowledged it', async () => {
    const { delivered, num_ack_pending: open } = await desk.consumerState('sandbox-reader');
    return delivered.consumer_seq > readBefore && open === 0;
  });
  expect(example.complaints).toEqual([]);
  const refusals = [...(stack.cores[0]?.log ?? []), ...webhooks.log].filter((line) =>
    /permission/i.test(JSON.stringify(line)),
  );
  expect(refusals).toEqual([]);
});

/** The first error that the broker reports. */
async function firstError(connection: NatsConnection): Promise<string> {
  for await (const { type, data } of connection.status())
    if (type === Events.Error && typeof data === 'string') return data;
  return 'none';
}
