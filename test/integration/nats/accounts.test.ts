import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { AckPolicy, DeliverPolicy, Empty, ErrorCode, Events, NatsError, connect } from 'nats';
import type { Consumer, NatsConnection } from 'nats';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { createLogger } from '../../../src/runtime/logger.ts';
import { openEventBus } from '../../../src/runtime/nats-event-bus.ts';
import type { Bell, EventBus } from '../../../src/runtime/nats-event-bus.ts';
import { startProcess } from '../../support/gatehouse-process.ts';
import { registration } from '../../support/order-requests.ts';
import { startStack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { runExample } from '../examples/run-example.ts';
import { shopOfTheSample, startNatsWithAccounts } from './nats-with-accounts.ts';
import type { NatsUser, NatsWithAccounts } from './nats-with-accounts.ts';

const readersApi = 'gatehouse.api';
const otherShop = 'mer_01m7xjbb99evv8hx2dqm5r8qgm';

let nats: NatsWithAccounts;
let closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  nats = await startNatsWithAccounts();
});

afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
});

afterAll(async () => {
  await nats.stop();
});

async function connectAs(user: NatsUser): Promise<NatsConnection> {
  const connection = await nats.connectAs(user);
  closing.push(() => connection.close());
  return connection;
}

/** The broker as Gatehouse's own processes use it. */
async function busOf(user: NatsUser): Promise<EventBus> {
  const logger = createLogger({ process: user, instance: 'test', level: 'silent' });
  const bus = openEventBus({ url: nats.urlOf(user), name: user, logger });
  closing.push(bus.close);
  await waitUntil(`${user} reaches the broker`, bus.isConnected);
  return bus;
}

const subjects = {
  sandbox: `orders.sandbox.${shopOfTheSample}.created`,
  production: `orders.production.${shopOfTheSample}.created`,
  otherProduction: `orders.production.${otherShop}.created`,
};

/** Publishes one event of each kind, with its subject as its body. */
async function publishAsCore(): Promise<void> {
  const bus = await busOf('core');
  const batch = randomBytes(8).toString('hex');
  await bus.publish(
    Object.values(subjects).map((subject) => ({
      subject,
      id: `${batch} ${subject}`,
      headers: {},
      body: Buffer.from(subject),
    })),
  );
}

/** What came of asking for something: an answer, a refusal by permissions, an error of JetStream's, or nobody there. */
async function ask(connection: NatsConnection, subject: string, request: object = {}): Promise<string> {
  try {
    const answer = await connection.request(subject, JSON.stringify(request), { timeout: 2_000 });
    const { error } = answer.json<{ error?: { description: string } }>();
    return error?.description ?? 'answered';
  } catch (error) {
    if (error instanceof NatsError) return error.code;
    throw error;
  }
}

/** Whether the broker lets it listen there. */
async function subscribing(connection: NatsConnection, subject: string): Promise<string> {
  const refused = new Promise<string>((done) => {
    const subscription = connection.subscribe(subject, { callback: (error) => done(error?.code ?? '') });
    closing.push(async () => subscription.unsubscribe());
  });
  // The broker answers in order: behind its refusal, if there is one.
  return Promise.race([refused, connection.flush().then(() => 'accepted')]);
}

const storedMessages = async (): Promise<number> => {
  const { messages } = (await nats.monitor('/jsz')) as { messages: number };
  return messages;
};

describe('core', () => {
  test('makes the stream and publishes events', async () => {
    const before = await storedMessages();

    await publishAsCore();

    expect((await storedMessages()) - before).toBe(3);
  });

  test.each<[Bell, NatsUser]>([
    ['order_events', 'core'],
    ['payment_attempts', 'wallets'],
  ])('rings for %s, which %s hears', async (bell, listener) => {
    const core = await busOf('core');
    const other = await busOf(listener);
    let heard = false;
    other.onRing(bell, () => (heard = true));

    await waitUntil('it is heard', () => {
      core.ring(bell);
      return heard;
    });
  });

  test.each([
    '$JS.API.STREAM.DELETE.ORDERS',
    '$JS.API.STREAM.PURGE.ORDERS',
    '$JS.API.STREAM.UPDATE.ORDERS',
    '$JS.API.STREAM.CREATE.OTHER',
    '$JS.API.STREAM.MSG.GET.ORDERS',
    '$JS.API.CONSUMER.CREATE.ORDERS.core',
    'gatehouse.wake.webhook_deliveries',
    'anything',
  ])('may not publish %s', async (subject) => {
    expect(await ask(await connectAs('core'), subject)).toBe(ErrorCode.PermissionsViolation);
  });

  test.each(['orders.>', '_INBOX_webhooks.>', '_INBOX.>', '>', '$JS.>'])(
    'may not listen to %s',
    async (subject) => {
      expect(await subscribing(await connectAs('core'), subject)).toBe(ErrorCode.PermissionsViolation);
    },
  );
});

describe('webhooks', () => {
  test('reads all events through its consumer, acknowledges them, and is heard by its like', async () => {
    const bus = await busOf('webhooks');
    const stop = new AbortController();
    closing.push(async () => stop.abort());
    const inbox = bus.eventConsumer({ name: 'webhooks', ackWaitMs: 30_000 }).listen(stop.signal);
    await waitUntil('it listens', inbox.isOpen);

    await publishAsCore();

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
      async () => (await consumerState('webhooks')).num_ack_pending === 0,
    );
    const other = await busOf('webhooks');
    let heard = false;
    other.onRing('webhook_deliveries', () => (heard = true));
    await waitUntil('the ring is heard', () => {
      bus.ring('webhook_deliveries');
      return heard;
    });
  });

  test.each([
    subjects.sandbox,
    subjects.production,
    'orders.x',
    '$JS.API.STREAM.DELETE.ORDERS',
    '$JS.API.STREAM.PURGE.ORDERS',
    '$JS.API.STREAM.MSG.DELETE.ORDERS',
    '$JS.API.STREAM.UPDATE.ORDERS',
    '$JS.API.CONSUMER.CREATE.ORDERS.another',
    '$JS.API.CONSUMER.DELETE.ORDERS.sandbox-reader',
    '$JS.API.CONSUMER.MSG.NEXT.ORDERS.sandbox-reader',
    'gatehouse.wake.order_events',
  ])('may not publish %s', async (subject) => {
    expect(await ask(await connectAs('webhooks'), subject)).toBe(ErrorCode.PermissionsViolation);
  });

  test.each(['orders.>', '_INBOX_core.>', '_INBOX.>', '>'])('may not listen to %s', async (subject) => {
    expect(await subscribing(await connectAs('webhooks'), subject)).toBe(ErrorCode.PermissionsViolation);
  });
});

describe('wallets', () => {
  test.each([
    subjects.sandbox,
    'gatehouse.wake.payment_attempts',
    '$JS.API.INFO',
    '$JS.API.STREAM.DELETE.ORDERS',
  ])('may not publish %s', async (subject) => {
    const connection = await connectAs('wallets');
    const violation = firstError(connection);
    connection.publish(subject, Empty);

    expect(await violation).toBe(ErrorCode.PermissionsViolation);
  });

  test.each(['orders.>', '_INBOX_core.>', '>'])('may not listen to %s', async (subject) => {
    expect(await subscribing(await connectAs('wallets'), subject)).toBe(ErrorCode.PermissionsViolation);
  });
});

describe('a reader in an account of its own', () => {
  test.each<[NatsUser, string, readonly string[]]>([
    ['sandbox-reader', 'orders.sandbox.>', [subjects.sandbox]],
    ['shop-reader', `orders.production.${shopOfTheSample}.>`, [subjects.production]],
  ])('reads and acknowledges what %s is for: %s', async (user, filter, expected) => {
    const connection = await connectAs(user);
    await publishAsCore();
    const consumer = await openConsumer(connection, user, filter);
    await publishAsCore();

    const read: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: 10, expires: 1_000 })) {
      read.push(message.string());
      message.ack();
    }

    expect(read).toEqual(expected);
    await waitUntil('it is acknowledged', async () => (await consumerState(user)).num_ack_pending === 0);
  });

  test.each<[NatsUser, string]>([
    ['sandbox-reader', 'orders.>'],
    ['sandbox-reader', 'orders.production.>'],
    ['shop-reader', 'orders.>'],
    ['shop-reader', 'orders.sandbox.>'],
    ['shop-reader', `orders.production.${otherShop}.>`],
    ['shop-reader', 'orders.production.*.completed'],
  ])('%s cannot have a consumer for %s', async (user, filter) => {
    const connection = await connectAs(user);
    const allowed = user === 'sandbox-reader' ? 'orders.sandbox.>' : `orders.production.${shopOfTheSample}.>`;
    const config = { name: user, durable_name: user, ack_policy: 'explicit' };
    const request = { stream_name: 'ORDERS', config: { ...config, filter_subject: filter } };

    const named = await ask(connection, `${readersApi}.CONSUMER.CREATE.ORDERS.${user}.${filter}`, request);
    const unnamed = await ask(connection, `${readersApi}.CONSUMER.CREATE.ORDERS.${user}`, request);
    const disguised = await ask(
      connection,
      `${readersApi}.CONSUMER.CREATE.ORDERS.${user}.${allowed}`,
      request,
    );

    expect([named, unnamed]).toEqual([ErrorCode.NoResponders, ErrorCode.NoResponders]);
    expect(disguised).toMatch(/did not match filtered subject/);
  });

  test.each<[string]>([
    ['STREAM.DELETE.ORDERS'],
    ['STREAM.PURGE.ORDERS'],
    ['STREAM.INFO.ORDERS'],
    ['STREAM.MSG.GET.ORDERS'],
    ['CONSUMER.DELETE.ORDERS.webhooks'],
    ['CONSUMER.MSG.NEXT.ORDERS.webhooks'],
    ['CONSUMER.MSG.NEXT.ORDERS.shop-reader'],
  ])('gets nothing from JetStream by %s', async (operation) => {
    const connection = await connectAs('sandbox-reader');
    await publishAsCore();
    const before = await storedMessages();

    expect(await ask(connection, `${readersApi}.${operation}`)).toBe(ErrorCode.NoResponders);
    // For messages there is no answer at all.
    expect(await ask(connection, `$JS.API.${operation}`)).toMatch(/not enabled for account|^TIMEOUT$/i);
    expect(await storedMessages()).toBe(before);
  });

  test('cannot put anything into the stream, not even by having an answer sent there', async () => {
    const connection = await connectAs('sandbox-reader');
    await publishAsCore();
    await openConsumer(connection, 'sandbox-reader', 'orders.sandbox.>');
    await publishAsCore();
    const before = await storedMessages();

    connection.publish(subjects.production, 'forged');
    const next = `${readersApi}.CONSUMER.MSG.NEXT.ORDERS.sandbox-reader`;
    connection.publish(next, JSON.stringify({ batch: 1 }), { reply: subjects.production });
    await connection.flush();
    const toStream = { deliver_subject: subjects.production };
    const pushing = await ask(
      connection,
      `${readersApi}.CONSUMER.CREATE.ORDERS.sandbox-reader.orders.sandbox.>`,
      {
        stream_name: 'ORDERS',
        config: {
          durable_name: 'sandbox-reader',
          ack_policy: 'explicit',
          filter_subject: 'orders.sandbox.>',
          ...toStream,
        },
      },
    );

    expect(pushing).toMatch(/cycle/);
    expect(await storedMessages()).toBe(before);
  });

  test('hears nothing of what Gatehouse says to itself', async () => {
    const connection = await connectAs('sandbox-reader');
    const heard: string[] = [];
    connection.subscribe('>', { callback: (_error, { subject }) => void heard.push(subject) });
    await connection.flush();
    const core = await busOf('core');
    const wallets = await busOf('wallets');
    let rung = false;
    wallets.onRing('payment_attempts', () => (rung = true));

    await publishAsCore();
    await waitUntil('the ring is heard by others', () => {
      core.ring('payment_attempts');
      return rung;
    });

    await connection.flush();
    expect(heard).toEqual([]);
  });
});

test.each([
  ['nobody', {}],
  ['a user without a password', { user: 'core' }],
  ['a wrong password', { user: 'core', pass: 'n' }],
  ["another user's password", { user: 'core', pass: 'n12e4-wallets' }],
])('%s cannot connect', async (_who, login) => {
  const refused = connect({ servers: nats.address, reconnect: false, ...login });

  await expect(refused).rejects.toThrow(/Authorization Violation/i);
});

test("programs run with these users: an order's event goes from core to webhooks and to another team's", async () => {
  const settings = { GATEHOUSE_NATS_URL: nats.urlOf('core') };
  const stack = await startStack({ cores: 1, facades: 0, settings });
  closing.push(stack.stop);
  const webhooks = await startProcess('webhooks', {
    ...stack.coreSettings,
    GATEHOUSE_NATS_URL: nats.urlOf('webhooks'),
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.webhooks,
    GATEHOUSE_WEBHOOKS_GRPC_PORT: '0',
    GATEHOUSE_WEBHOOKS_CONNECT_PORT: '0',
    GATEHOUSE_WEBHOOK_SECRET_KEYS: `test:${randomBytes(32).toString('hex')}`,
  });
  closing.push(() => webhooks.stop());
  const { id: merchantId } = await stack.createMerchant();
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-nats-example-'));
  closing.push(() => rm(folder, { recursive: true }));
  const demo = { connect: stack.connectUrl, tokens: { reader: stack.tokens.reader } };
  await writeFile(join(folder, 'demo.json'), JSON.stringify(demo));
  const example = runExample('consume-order-stream.ts', [join(folder, 'cursor')], {
    GATEHOUSE_DATA_DIR: folder,
    GATEHOUSE_NATS_URL: nats.urlOf('sandbox-reader'),
    GATEHOUSE_NATS_API_PREFIX: readersApi,
  });
  closing.push(example.kill);
  const before = (await consumerState('webhooks')).delivered.consumer_seq;
  const readBefore = (await consumerState('sandbox-reader')).delivered.consumer_seq;

  await stack.client(OrderService, 'writer').registerOrder(registration({ merchantId, orderNumber: 'N-1' }));

  await waitUntil('webhooks has taken the event', async () => {
    const { delivered, num_ack_pending: open } = await consumerState('webhooks');
    return delivered.consumer_seq > before && open === 0;
  });
  await waitUntil('the example has printed it', () => example.lines[0]?.startsWith('N-1 '));
  await waitUntil('the example has acknowledged it', async () => {
    const { delivered, num_ack_pending: open } = await consumerState('sandbox-reader');
    return delivered.consumer_seq > readBefore && open === 0;
  });
  expect(example.complaints).toEqual([]);
  const refusals = [...(stack.cores[0]?.log ?? []), ...webhooks.log].filter((line) =>
    /permission/i.test(JSON.stringify(line)),
  );
  expect(refusals).toEqual([]);
});

/** A reader's own place in the stream, as examples/consume-order-stream.ts makes it. */
async function openConsumer(connection: NatsConnection, name: string, filter: string): Promise<Consumer> {
  const manager = await connection.jetstreamManager({ apiPrefix: readersApi, checkAPI: false });
  await manager.consumers.add('ORDERS', {
    durable_name: name,
    filter_subject: filter,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.New,
  });
  return connection.jetstream({ apiPrefix: readersApi }).consumers.get('ORDERS', name);
}

interface ConsumerState {
  readonly name: string;
  readonly num_ack_pending: number;
  readonly delivered: { readonly consumer_seq: number };
}

/** What the broker's monitoring says of a consumer, as soon as there is one. */
function consumerState(name: string): Promise<ConsumerState> {
  return waitUntil(`there is a consumer ${name}`, async () => {
    const { account_details: accounts = [] } = (await nats.monitor('/jsz?consumers=true')) as {
      account_details?: { stream_detail?: { consumer_detail?: ConsumerState[] }[] }[];
    };
    return accounts
      .flatMap(({ stream_detail: streams = [] }) => streams)
      .flatMap(({ consumer_detail: consumers = [] }) => consumers)
      .find((consumer) => consumer.name === name);
  });
}

/** The first thing the broker complains of. */
async function firstError(connection: NatsConnection): Promise<string> {
  for await (const { type, data } of connection.status())
    if (type === Events.Error && typeof data === 'string') return data;
  return 'none';
}
