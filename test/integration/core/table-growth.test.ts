import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import { newRandomId, publicId, storedId } from '../../../src/contract/public-id.ts';
import type { EventCursor } from '../../../src/contract/event-cursor.ts';
import type { PublicId, StoredId } from '../../../src/contract/public-id.ts';
import { createApiKeyStore } from '../../../src/core/api-keys/api-key-store.ts';
import { openStoredOrders } from '../../../src/core/audit/read-stored-orders.sql.ts';
import { createIndexTask } from '../../../src/core/database/large-indexes.ts';
import { OrderRow } from '../../../src/core/database/order-entities.ts';
import { checkMoney } from '../../../src/core/diagnostics/check-money.ts';
import { checkOrderHistories } from '../../../src/core/diagnostics/check-order-histories.ts';
import { readOpenRefund, readOpenStray } from '../../../src/core/order-story/explanation-rows.ts';
import { createReadOrderStory } from '../../../src/core/order-story/read-order-story.ts';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { inTransaction } from '../../../src/platform/database/in-transaction.ts';
import type { PaymentOption } from '../../../src/core/domain/order.ts';
import { readEvents } from '../../../src/core/events/read-events.sql.ts';
import { createPaymentReader } from '../../../src/core/payments/attempts/payment-reader.ts';
import { readOrder } from '../../../src/core/payments/changes/read-order.ts';
import { createAttemptIds } from '../../../src/core/payments/changes/attempt-ids.ts';
import { createClaimPayments } from '../../../src/core/payments/changes/claim-payments.ts';
import { findByRequest } from '../../../src/core/reconciliation/known-money.sql.ts';
import type { WalletScope } from '../../../src/core/reconciliation/known-money.sql.ts';
import { readRefundBasis } from '../../../src/core/payments/refunds/refund-basis.sql.ts';
import { beginRecovery } from '../../../src/core/recovery/begin-recovery.ts';
import { keepPaidAccounts } from '../../../src/core/recovery/lost-accounts.sql.ts';
import { expireOrders } from '../../../src/core/payments/orders/expire-orders.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { openGrowingTable } from './growing-table.ts';
import type { GrowingTable } from './growing-table.ts';

// Frequent statements must cost the same for any number of orders. The blocks of tables and indexes that PostgreSQL
// reads show that, and do not depend on the load of the machine.

const small = 1_000;
// GATEHOUSE_TEST_ORDERS=1000000 takes a minute more and has the same result.
const large = Number(process.env['GATEHOUSE_TEST_ORDERS'] ?? 50_000);
/**
 * A B-tree of a million entries has two more levels than one of a thousand, so every descent is longer by two blocks.
 */
const maxTimes = 2;

let table: GrowingTable;
const stop = new AbortController();
const withoutRestore = {
  gate: { isOpen: () => true, isOpenFor: () => true },
  claims: { find: () => Promise.resolve([]), claimFor: () => Promise.resolve() },
  wallets: [],
  machineNow: () => new Date(),
};

const scope = { requestId: 'table-growth', signal: stop.signal };
const lease = (...paymentOptions: PaymentOption[]) =>
  table.lease({
    environment: 'SANDBOX',
    paymentOptions,
    exceptMerchantIds: [],
    limit: 50,
    leaseMs: 60_000,
  });

const works: Readonly<Record<string, () => Promise<unknown>>> = {
  'keeping the accounts of rebuilt payments': () =>
    keepPaidAccounts(table.database.fork(), '00000000-0000-0000-0000-000000000000'),
  'expiring 50 orders': () => expireOrders(table.changes, withoutRestore, stop.signal),
  'looking for orders to expire when there are none': () =>
    expireOrders(table.changes, withoutRestore, stop.signal),
  'leasing 50 payments': () => lease('walleta_ussd', 'walleta_wallet'),
  'looking for payments to lease when there are none': () => lease('walletb_ussd'),
  'finding 20 orders by their order_number': () =>
    Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        table.findOrder(
          {
            merchantId: table.merchantId,
            environment: 'SANDBOX',
            by: 'order_number',
            value: `old-${index * 20 + 1}`,
          },
          scope,
        ),
      ),
    ),
  'reading the latest events': () => readEvents(table.database.pool, beforeLatest, latestEvents),
  'reading the story of an order': () =>
    createReadOrderStory(table.database)({
      merchantId: table.merchantId,
      environment: 'SANDBOX',
      orderId: storyOrder,
    }),
  'asking whether 20 phones are free': () => reservePhones(20),
  'listing the attempts of an order': async () => {
    const filter = { merchantId: table.merchantId, environment: 'SANDBOX', orderId: storyOrder } as const;
    const all = await createPaymentReader(table.database).list({
      ...{ ...filter, statuses: [], beforeId: undefined, limit: 50 },
    });
    expect(all.map(({ attempt }) => attempt.status)).toEqual(['SUCCEEDED', 'DECLINED']);
  },
  'reading an order with two attempts': async () => {
    const { earlierAttempts } = await readOldOrder();
    expect(earlierAttempts).toMatchObject([{ status: 'DECLINED' }]);
  },
};

/** The first step of a recovery. */
async function beginAndUndo(): Promise<void> {
  const undo = new Error('undo');
  const now = new Date();
  const recovery = { id: randomUUID(), cause: 'OPERATOR', lostFrom: now, lostUntil: now } as const;
  await table.database
    .fork()
    .transactional(async (em) => {
      await beginRecovery(em, [], recovery);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
}

const latestEvents = 100;
let beforeLatest: EventCursor = { xid: '0', position: '0' };
let storyOrder: PublicId<'ord'>;

async function readOldOrder(): ReturnType<typeof readOrder> {
  const em = table.database.fork();
  const merchantId = storedId('mer', table.merchantId);
  return readOrder(em, await em.findOneOrFail(OrderRow, { merchantId, orderNumber: 'old-1' }));
}

/**
 * Adds a declined attempt before the one of an old order, and one more event, which names its attempt like every real event of a
 * payment.
 */
async function addAttemptAndEvent(): Promise<void> {
  const { rows } = await table.database.pool.query<{
    id: StoredId<'ord'>;
    latest_attempt_id: StoredId<'pat'>;
  }>(sql`select id, latest_attempt_id from core.orders
    where merchant_id = ${storedId('mer', table.merchantId)} and order_number = 'old-1'`);
  const [order] = rows;
  if (order === undefined) throw new Error('there is no old order');
  storyOrder = publicId('ord', order.id);
  await table.database.pool.query(sql`insert into core.payment_attempts
      (merchant_id, environment, order_id, id, status, payment_option, phone, decline_reason, created_at, updated_at)
    values (${storedId('mer', table.merchantId)}, 'SANDBOX', ${order.id}, uuidv7(interval '-2 days'),
      'DECLINED', 'walleta_ussd', '+251911223344', 'cancelled', now(), now())`);
  await table.database.pool.query(sql`update core.orders set attempt_count = 2
    where merchant_id = ${storedId('mer', table.merchantId)} and id = ${order.id}`);
  const paymentAttempt = { paymentAttemptId: publicId('pat', order.latest_attempt_id) };
  await table.database.pool.query(
    `insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
     values ($1, 'SANDBOX', $2, 3, uuidv7(), 'COMPLETED', now(), $3)`,
    [
      storedId('mer', table.merchantId),
      order.id,
      Buffer.from(toBinary(OrderEventSchema, create(OrderEventSchema, { paymentAttempt }))),
    ],
  );
}

async function reservePhones(count: number): Promise<unknown> {
  const { merchantId } = table;
  const asked = Array.from({ length: count }, (_, index) => ({
    phone: `+2519${String(index).padStart(8, '0')}`,
    environment: 'PRODUCTION' as const,
    merchantId,
    network: null,
  }));
  const reservation = table.phoneLimit.reserve(asked);
  return inTransaction(table.database.pool, reservation.statements, async (_client, rows) =>
    reservation.answers(rows),
  );
}

/** The cursor before the latest events, after no transaction of another test holds them back. */
async function cursorBeforeLatest(): Promise<EventCursor> {
  const { rows } = await table.database.pool.query<EventCursor>(sql`select xid::text, position::text
    from core.order_events e order by e.xid desc, e.position desc offset ${latestEvents} limit 1`);
  const [cursor] = rows;
  if (cursor === undefined) throw new Error('there are too few events');
  await waitUntil('the latest events are visible', async () => {
    const { events } = await readEvents(table.database.pool, cursor, latestEvents);
    return events.length === latestEvents;
  });
  return cursor;
}

async function measure(): Promise<Record<string, number>> {
  beforeLatest = await cursorBeforeLatest();
  await table.makeDue(100);
  const measured: Record<string, number> = {};
  for (const [name, work] of Object.entries(works)) measured[name] = await table.blocksOf(work);
  // So that the recovery has nothing to write about these payments.
  await table.database.pool.query(`
    update core.payment_attempts set status = 'SENT', maybe_sent = true where due_at is not null`);
  measured['beginning a recovery'] = await table.blocksOf(beginAndUndo);
  return measured;
}

beforeAll(async () => {
  table = await openGrowingTable();
});

afterAll(async () => {
  stop.abort();
  await table.close();
});

test(`frequent statements read as much with ${large} orders as with ${small}`, async () => {
  await table.growTo(small);
  await createIndexTask(table.database)(stop.signal);
  await addAttemptAndEvent();
  const few = await measure();
  await table.growTo(large);

  const many = await measure();

  const grown = Object.entries(many)
    .filter(([name, blocks]) => blocks > maxTimes * (few[name] ?? 0) + 10)
    .map(([name, blocks]) => `${name}: ${blocks} blocks instead of ${few[name]}`);
  expect(grown).toEqual([]);
});

test('rows that have ended for good are not read again, however many a merchant has', async () => {
  const { database, merchantId } = table;
  await table.growTo(small);
  await createIndexTask(database)(stop.signal);
  const { rows } = await database.pool.query<Stored>(sql`select id, merchant_id, latest_attempt_id
    from core.orders where merchant_id = ${storedId('mer', merchantId)} and status = 'COMPLETED' limit 1`);
  const [order] = rows;
  if (order === undefined) throw new Error('there is no completed order');
  await insertEnded(order);
  const keys = createApiKeyStore({ database, newId: newRandomId, now: () => new Date() });
  const key = { merchantId, environment: 'SANDBOX', label: '', scopes: [], prefix: 'svc_test_new' } as const;
  const by = { actor: 'test', requestId: 'test' };
  const of = await database.fork().findOneOrFail(OrderRow, { merchantId: order.merchant_id, id: order.id });

  const other = await database.fork().findOneOrFail(OrderRow, {
    ...{ merchantId: order.merchant_id, id: { $ne: order.id }, status: 'COMPLETED' },
  });

  const wallet: WalletScope = {
    ...{
      environment: 'SANDBOX',
      options: ['walleta_ussd'],
      isOperators: true,
      accounts: [],
      otherAccounts: [],
    },
  };
  const works: readonly (readonly [name: string, work: () => Promise<unknown>, most: number])[] = [
    ['issuing an API key', () => keys.add({ ...key, hash: randomBytes(32) }, by), 100],
    ['finding an open refund', () => readOpenRefund(database.fork(), of), 100],
    ['finding an open stray payment', () => readOpenStray(database.fork(), of), 100],
    [
      'finding the money of a statement by an id',
      () => findByRequest(database.fork(), wallet, [randomUUID()]),
      100,
    ],
    ['reading the past of another order', () => readOrder(database.fork(), other), 100],
    ['summing the refunds of another order', () => readRefundBasis(database.fork(), other), 100],
    // For each of at most 5,000 orders: the order, its payment, its events and its refunds.
    ['checking the money of recent orders', () => checkMoney(database), 12 * 5_000],
  ];

  // After five readings of a named statement, PostgreSQL may keep one plan for all orders.
  for (let readings = 0; readings < 6; readings += 1) await readRefundBasis(database.fork(), of);

  for (const [name, work, most] of works)
    expect({ name, few: (await table.blocksOf(work)) < most }).toEqual({ name, few: true });
});

interface Stored {
  readonly id: StoredId<'ord'>;
  readonly merchant_id: StoredId<'mer'>;
  readonly latest_attempt_id: StoredId<'pat'>;
}

/** Thousands of expired keys of the order's merchant, and of completed refunds and returned stray payments of the order. */
async function insertEnded({
  id,
  merchant_id: merchantId,
  latest_attempt_id: attemptId,
}: Stored): Promise<void> {
  const { pool } = table.database;
  const values = [merchantId, 5_000];
  await pool.query(sql`
    insert into core.merchants (id, name, status, production_activated, session_lifetime_seconds, created_at, updated_at)
    values (${merchantId}, 'Shop', 'ACTIVE', false, 1800, now(), now()) on conflict do nothing`);
  await pool.query(
    `insert into core.api_keys (merchant_id, id, environment, prefix, key_hash, label, created_at, expires_at)
     select $1, uuidv7(), 'SANDBOX', 'svc_test_old', sha256(uuid_send(uuidv7())), '', now(), now() from generate_series(1, $2::integer) n`,
    values,
  );
  await pool.query(
    `insert into core.refunds
       (merchant_id, id, environment, refund_number, order_id, order_number, payment_attempt_id, payment_option,
        provider_transaction_id, amount_minor_units, amount_given, currency, reason, requested_by, status, detail, tries,
        maybe_sent, created_at, updated_at)
     select $1, uuidv7(), 'SANDBOX', 'ended-' || n, $3, 'old', $4, 'walleta_ussd', 'old', 1, true, 'ETB', '', '', 'REVERSED',
       '', 1, true, now(), now()
     from generate_series(1, $2::integer) n`,
    [...values, id, attemptId],
  );
  await pool.query(
    `insert into core.stray_payments
       (merchant_id, id, environment, order_id, payment_attempt_id, payment_option, provider_transaction_id, amount,
        currency, kind, status, detail, tries, maybe_sent, created_at, updated_at, reversal_id)
     select $1, uuidv7(), 'SANDBOX', $3, $4, 'walleta_ussd', 'ended-' || n, '1.00', 'ETB', 'LATE', 'REVERSED', '', 1,
       true, now(), now(), uuidv7()
     from generate_series(1, $2::integer) n`,
    [...values, id, attemptId],
  );
  await pool.query('vacuum analyze core.api_keys, core.refunds, core.stray_payments');
}

// An order's number leads to the reference of its payment, but not the other way round. So each PENDING order is read.
test('looking for the orders of lost payments reads few of the orders that have ended', async () => {
  const { pool } = table.database;
  await table.growTo(large);
  await pool.query(`insert into core.unclaimed_payments
      (environment, wallet, payee, provider_transaction_id, request_id, reference_end, amount, currency, occurred_at, found_at)
    values ('SANDBOX', 'walleta', '', 'lost', 'lost', 'lost', '100.50', 'ETB', now(), now())`);
  const { rows } = await pool.query<{ pending: number }>(`
    select count(*)::integer as pending from core.orders where status = 'PENDING'`);
  const claims = createClaimPayments({
    ...{ database: table.database, changes: table.changes, wallets: [], logger: { warn: () => undefined } },
    attemptIds: createAttemptIds(newRandomId, Buffer.alloc(32)),
    gate: { hasUnclaimed: () => true, mayBeUnclaimed: () => true },
  });

  const blocks = await table.blocksOf(() => claims.claimAll('SANDBOX'));

  expect(rows[0]?.pending).toBeGreaterThan(large / 20);
  expect(blocks).toBeLessThan(2 * (rows[0]?.pending ?? 0));
});

// A new database has none until core or PostgreSQL collects them, and a database that grows fast has those of a smaller one.
test.each([
  ['money', checkMoney],
  ['order histories', checkOrderHistories],
])('the check of %s reads as little without the statistics of the planner', async (_name, check) => {
  const fresh = await openGrowingTable();
  const blocks = () => fresh.blocksOf(() => check(fresh.database));
  await fresh.growTo(small, { analyzed: false });
  const without = await blocks();
  await fresh.growTo(small);

  const withStatistics = await blocks();

  await fresh.close();
  expect(without).toBeLessThan(2 * withStatistics);
  // For each order: the order, its payment, its events and its refunds.
  expect(withStatistics).toBeLessThan(12 * small);
});

test('a comparison of all orders of a merchant reads its payment attempts once', async () => {
  const { pool } = table.database;
  await table.growTo(large);
  const merchantId = storedId('mer', table.merchantId);
  const { rows } = await pool.query<{ id: string }>(sql`select id from core.orders
    where merchant_id = ${merchantId} and order_number like 'old-%' order by id limit 2000`);
  const ids = rows.map(({ id }) => id);
  const pages = Array.from({ length: ids.length / 20 }, (_, page) => ids.slice(page * 20, page * 20 + 20));
  let compared = 0;

  const blocks = await table.blocksOf(async () => {
    const client = await pool.connect();
    await client.query('begin');
    const orders = await openStoredOrders(client, merchantId);
    for (const page of pages) {
      const storedOf = await orders.read(page);
      compared += page.filter((id) => storedOf(id).attempts.size > 0).length;
    }
    await client.query('rollback');
    client.release();
  });

  // Each old order of this shop has an attempt.
  expect(compared).toBe(ids.length);
  expect(blocks).toBeLessThan(4 * ids.length);
});
