import { beforeAll, describe, expect, test } from '@jest/globals';
import { fromBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { formatCursor } from '../../../src/contract/event-cursor.ts';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { publicId } from '../../support/ids.ts';
import { Environment, OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { ownNats } from '../../faults/stoppable-servers.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { queryOnce } from '../../support/database-connections.ts';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { shared, sharedClient } from '../../support/shared-stack.ts';
import { startStack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { readStream } from './broker-messages.ts';
import type { StoredMessage } from './broker-messages.ts';
import { beginLateEvent } from './late-event.ts';

/** One broker and two cores for all tests. The second test kills one core, and the last test replaces the other. */
const broker = shared(
  async () => {
    const server = await ownNats();
    await server.start();
    return server;
  },
  (server) => server.remove(),
);
const stack = shared(() =>
  startStack({ ownProcesses: true, cores: 2, facades: 0, settings: { GATEHOUSE_NATS_URL: broker.url } }),
);
const orders = sharedClient(stack, OrderService, 'writer');
let merchantId: string;
beforeAll(async () => {
  merchantId = (await stack.createMerchant()).id;
});

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

async function registerAll(orderNumbers: readonly string[], at = orders): Promise<void> {
  await Promise.all(
    orderNumbers.map((orderNumber) => at.registerOrder(registration({ merchantId, orderNumber }))),
  );
}

const orderNumberOf = ({ body }: StoredMessage): string =>
  fromBinary(OrderEventSchema, body).order?.orderNumber ?? '';

/** The messages of the stream as soon as it has the events of all these orders. */
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
async function storedEvents(): Promise<EventRow[]> {
  const rows = await queryOnce<EventRow>(
    stack.databaseUrl,
    'select id, payload from core.order_events order by xid, position',
  );
  return rows.map(({ id, payload }) => ({ id: publicId('evt', id), payload }));
}

/** Ends every session that holds an advisory lock in this database. */
const endLockedSessions = () =>
  queryOnce(
    stack.databaseUrl,
    `select pg_terminate_backend(pid) from pg_locks
     where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
  );

const relays = ({ log }: GatehouseProcess): boolean => log.some(({ msg }) => msg === 'relaying events');

/** The stream has each committed event once, in commit order. */
async function expectEachEventOnce(): Promise<void> {
  const [messages, events] = await Promise.all([readStream(broker.url), storedEvents()]);
  expect(messages.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
}

describe('the relay', () => {
  test('publishes each event with its id, bytes, subject and cursor, in commit order', async () => {
    const late = await beginLateEvent(stack.databaseUrl);
    await late.insert();
    await registerAll(['R-1', 'R-2']);
    await late.commit();
    await late.end();
    await orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'S-1' }));
    const environment = Environment.PRODUCTION;
    await orders.registerOrder(registration({ merchantId, orderNumber: 'S-2', environment }));
    await untilStored(['R-1', 'R-2', 'S-1', 'S-2']);
    await registerAll(numbered('P', 20));

    const messages = await untilStored(numbered('P', 20));

    expect(messages.map(({ id, body }) => ({ id, payload: body }))).toEqual(await storedEvents());
    expect(messages[0]?.id).toBe(late.eventId);
    expect(messages.slice(3, 6).map(({ subject }) => subject)).toEqual([
      `orders.sandbox.${merchantId}.created`,
      `orders.sandbox.${merchantId}.payment_started`,
      `orders.production.${merchantId}.created`,
    ]);
    expect(messages.map(({ previousCursor }) => previousCursor)).toEqual([
      formatCursor({ xid: '0', position: '0' }),
      ...messages.slice(0, -1).map(({ cursor }) => cursor),
    ]);
    // A consumer that missed messages continues with core, after the cursor of its last message.
    const { entries } = await stack
      .client(OrderService, 'webhooks')
      .listOrderEvents({ afterCursor: messages[5]?.cursor ?? '' });
    expect(entries.map(({ event }) => event?.eventId)).toEqual(messages.slice(6).map(({ id }) => id));
  });

  test('runs in one of two cores, and the other takes over when that one is killed', async () => {
    expect(stack.cores.filter(relays)).toHaveLength(1);
    const relaying = stack.cores.find(relays);
    const other = stack.cores.find((core) => !relays(core));

    const registering = registerAll(numbered('L', 200));
    await relaying?.stop('SIGKILL');
    await registering;
    await registerAll(numbered('M', 50));

    await untilStored([...numbered('L', 200), ...numbered('M', 50)]);
    await expectEachEventOnce();
    expect(other !== undefined && relays(other)).toBe(true);
  });

  test('continues when the session that holds its lock is ended', async () => {
    await endLockedSessions();
    await registerAll(['T-1']);

    const messages = await untilStored(['T-1']);

    expect(messages.at(-1)?.previousCursor).toBe(messages.at(-2)?.cursor);
    await expectEachEventOnce();
  });

  test('catches up after the broker was unavailable, and orders are registered and read meanwhile', async () => {
    await broker.stop();
    // More than the relay reads at once.
    for (const orderNumbers of [numbered('D', 400), numbered('E', 300)])
      await orders.batchRegisterOrders({
        requests: orderNumbers.map((orderNumber) => registration({ merchantId, orderNumber })),
      });
    const { order } = await orders.getOrder(orderNamed(merchantId, 'D-0'));
    expect(order?.orderNumber).toBe('D-0');
    await broker.start();

    await untilStored([...numbered('D', 400), ...numbered('E', 300)]);

    await expectEachEventOnce();
  });

  test('publishes a change of accounts, without credentials, before every event that was committed after it', async () => {
    await broker.stop();
    const owners = stack.client(MerchantWalletService, 'dashboard');
    const canary = 'canary-of-a-client-secret';
    const { account } = await owners.addWalletAccount({
      ...{ merchantId, environment: Environment.SANDBOX, wallet: 'walleta' },
      values: { client_id: 'own', client_secret: canary, 'payee.type': 'accountid', 'payee.id': '3001' },
    });
    const key = { merchantId, walletAccountId: account?.walletAccountId ?? '' };
    const check = WalletAccountCheck.ACCEPTED;
    await stack.client(MerchantWalletService, 'wallets').recordWalletAccountCheck({ ...key, check });
    await owners.promoteWalletAccount(key);
    await owners.retireWalletAccount(key);
    await registerAll(['C-1']);
    await broker.start();

    const messages = await untilStored(['C-1']);

    const changes = messages.filter(({ accountChange }) => accountChange !== '');
    const told = changes.map(
      ({ accountChange }) => JSON.parse(Buffer.from(accountChange, 'base64url').toString()) as object,
    );
    expect(told).toEqual([
      expect.objectContaining({ wallet_account_id: key.walletAccountId, payee: 'accountid 3001' }),
      expect.objectContaining({ wallet_account_id: null, payee: '' }),
    ]);
    expect(JSON.stringify(told)).not.toContain(canary);
    const places = changes.map((change) => messages.indexOf(change));
    const ordered = messages.findIndex((message) => orderNumberOf(message) === 'C-1');
    expect(places.every((place) => place < ordered)).toBe(true);
    // The chain of events goes past them.
    const events = messages.filter(({ cursor }) => cursor !== '');
    expect(events.at(-1)?.previousCursor).toBe(events.at(-2)?.cursor);
  });

  test('creates the stream again when the broker has lost everything that it stored', async () => {
    await waitUntil('core has recorded that every event is published', async () => {
      const waiting = await queryOnce(
        stack.databaseUrl,
        'select from core.order_events e where not exists (select from core.event_relay r where (r.xid, r.position) >= (e.xid, e.position))',
      );
      return waiting.length === 0;
    });
    await broker.stop();
    await broker.wipe();
    await registerAll(numbered('F', 5));
    await broker.start();

    const messages = await untilStored(numbered('F', 5));

    expect(new Set(messages.map(orderNumberOf))).toEqual(new Set(numbered('F', 5)));
  });

  test('begins when the broker becomes available after a start without it', async () => {
    await broker.stop();
    const started = await stack.startCore();
    const exitCodes = await Promise.all(stack.cores.map((core) => core.stop()));
    expect(exitCodes).toContain(0);
    const transport = createGrpcTransport({
      addresses: [String(started.ready['grpc'])],
      token: stack.tokens.writer,
    });
    await registerAll(numbered('A', 5), createClient(OrderService, transport));
    transport.close();

    await broker.start();

    await untilStored(numbered('A', 5));
  });
});
