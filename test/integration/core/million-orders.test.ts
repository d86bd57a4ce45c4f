import { newRandomId, storedId } from '../../../src/contract/public-id.ts';
import type { PublicId } from '../../../src/contract/public-id.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { QueryConfig } from 'pg';
import { v7 } from 'uuid';
import { createFindOrdersAnywhere } from '../../../src/core/payments/search/find-orders-anywhere.ts';
import { searchBounds } from '../../../src/core/database/walk-back.ts';
import type { SearchBounds } from '../../../src/core/database/walk-back.ts';
import { createSearchOrders } from '../../../src/core/payments/search/search-orders.ts';
import type { OrderFilter, SearchOrders } from '../../../src/core/payments/search/search-orders.ts';
import { createRequestLogStore } from '../../../src/core/request-log/request-log-store.ts';
import type { RequestFilter } from '../../../src/core/request-log/search-requests.sql.ts';
import { publicId } from '../../support/ids.ts';
import { openCountedDatabase } from '../../support/counted-database.ts';
import type { CountedDatabase } from '../../support/counted-database.ts';
import { oneWalk, orderFilter } from '../../support/order-filter.ts';
import { seedOrders } from '../../support/seed-orders.ts';
import { sql } from '../../support/sql.ts';

// The blocks that PostgreSQL reads for a search, which do not depend on the load of the machine. The bounds hold for
// every search.

const count = Number(process.env['GATEHOUSE_TEST_ORDERS'] ?? 200_000);
const until = new Date('2026-11-21T00:00:00Z');
const days = 30;

let orders: CountedDatabase;
let search: SearchOrders;
const stored = v7();
const merchantId = publicId('mer', stored);

beforeAll(async () => {
  orders = await openCountedDatabase('million orders');
  await seedOrders(orders.client, { merchantId: stored, environment: 'SANDBOX', count, until, days });
  search = createSearchOrders(orders.database, oneWalk);
  await addNeedles();
});

afterAll(() => orders.close());

/** Among 500 merchants: the oldest orders of one are links, and its very oldest is paid from another phone. */
async function addNeedles(): Promise<void> {
  const { client } = orders;
  await client.query(sql`
    insert into core.merchants (id, name, status, production_activated, session_lifetime_seconds, created_at, updated_at)
    select case when n = 7 then ${stored}::uuid else gen_random_uuid() end, 'Shop ' || n, 'ACTIVE', false,
      1800, now(), now()
    from generate_series(1, 500) n`);
  await client.query(sql`update core.orders set payment_type = 'LINK'
    where merchant_id = ${stored} and order_number = any(${[0, 1, 2, 3, 4].map(name)})`);
  await client.query(sql`with attempt as (
      insert into core.payment_attempts
        (merchant_id, environment, order_id, id, status, payment_option, phone, created_at, updated_at, provider_transaction_id)
      select merchant_id, environment, id, gen_random_uuid(), 'SUCCEEDED', 'walleta_ussd', '+251955000001', created_at,
        created_at, 'TXN-1'
      from core.orders where merchant_id = ${stored} and order_number = ${name(0)}
      returning merchant_id, order_id, id
    )
    update core.orders o set latest_attempt_id = attempt.id from attempt
    where o.merchant_id = attempt.merchant_id and o.id = attempt.order_id`);
  await client.query('vacuum analyze core.orders, core.merchants, core.payment_attempts');
}

async function read(own: Partial<OrderFilter>) {
  const { result, blocks } = await orders.counted(() => search(orderFilter(merchantId, own)));
  return { ...result, numbers: result.orders.map(({ orderNumber }) => orderNumber), blocks };
}

/** A page of 50, each looked up by its key, and the descent of one or two indexes. */
const blocksOfAPage = 600;
/** 50,000 orders are in about 2,600 blocks, and the rest is for the descent of the index. */
const blocksOfAWalk = 9_000;
const name = (number: number): string => `SEED-${number}`;
/** The filter of an amount that every 1,000th order has. */
const rare = { currency: 'ETB', minMinorUnits: 77_777n, maxMinorUnits: 77_777n };
const rarely = (each: number, offset = 0): string[] =>
  Array.from({ length: count / each }, (_, n) => name(n * each + offset)).reverse();
const middle = new Date(until.getTime() - (days / 2) * 86_400_000);

test.each<[string, Partial<OrderFilter>, (numbers: readonly string[]) => void]>([
  ['the newest order', {}, (found) => expect(found[0]).toBe(name(count - 1))],
  ['a page in the middle', { createdTo: middle }, (found) => expect(found).toHaveLength(50)],
  ['an order_number', { orderNumber: name(7) }, (found) => expect(found).toEqual([name(7)])],
  [
    'a prefix of ten orders',
    { orderNumberPrefix: name(11_111).slice(0, -1) },
    (found) => expect(new Set(found.map((number) => number.slice(0, 9)))).toEqual(new Set(['SEED-1111'])),
  ],
  ['a prefix of all', { orderNumberPrefix: 'SEED-' }, (found) => expect(found[0]).toBe(name(count - 1))],
  [
    'a customer_phone',
    { customerPhone: '+251900000042' },
    (found) => expect(found).toEqual(rarely(50_000, 42)),
  ],
  ['a phone', { phone: '+251900000042' }, (found) => expect(found).toEqual(rarely(50_000, 42))],
  ['the phone of a payer', { phone: '+251955000001' }, (found) => expect(found).toEqual([name(0)])],
  ['a frequent status', { statuses: ['EXPIRED'] }, (found) => expect(found).toHaveLength(50)],
])('%s is found by reading one page', async (_name, own, check) => {
  const { numbers, blocks } = await read(own);

  check(numbers);
  // The search by the beginning of a number comes first, and reads up to 20,000 entries of the index.
  expect(blocks).toBeLessThan(blocksOfAPage + (own.orderNumberPrefix === undefined ? 0 : 2_500));
});

test('a rare amount is found over several calls, each within its limits, without gap or repeat', async () => {
  const seen: string[] = [];
  let beforeId: PublicId<'ord'> | undefined;
  do {
    const page = await read({ ...rare, beforeId, limit: 60 });
    expect(page.blocks).toBeLessThan(blocksOfAWalk);
    seen.push(...page.numbers);
    beforeId = page.searchedTo;
  } while (beforeId !== undefined);

  expect(seen).toEqual(rarely(1_000));
});

test('a call repeats no order when others are registered while it searches', async () => {
  const { client, database } = orders;
  let statements = 0;
  const query = async (statement: QueryConfig) => {
    statements += 1;
    if (statements > 1)
      await client.query(
        `insert into core.orders
       select (jsonb_populate_record(o, jsonb_build_object('id', $1::text, 'order_number', $1::text))).*
       from core.orders o where merchant_id = $2 and order_number = $3`,
        [v7(), stored, name(1)],
      );
    return database.pool.query(statement);
  };
  const pool = new Proxy(database.pool, {
    get: (target, key) => (key === 'query' ? query : (Reflect.get(target, key) as unknown)),
  });
  const searchOf = createSearchOrders({ pool }, { ...searchBounds, monotonicMs: () => 0 });

  const { orders: found } = await searchOf(orderFilter(merchantId, { ...rare, limit: 60 }));
  await client.query(sql`delete from core.orders where merchant_id = ${stored} and order_number = id::text`);

  expect(found.map(({ orderNumber }) => orderNumber)).toEqual(rarely(1_000).slice(0, 60));
});

test('a search without matches ends after one call for each limit of the scan', async () => {
  let calls = 0;
  let beforeId: PublicId<'ord'> | undefined;
  do {
    const page = await read({ statuses: ['FAILED'], paymentTypes: ['DIRECT'], beforeId });
    expect(page.orders).toEqual([]);
    expect(page.blocks).toBeLessThan(blocksOfAWalk);
    beforeId = page.searchedTo;
    calls += 1;
  } while (beforeId !== undefined);

  expect(calls).toBeLessThanOrEqual(count / 50_000 + 1);
});

test('a search for a payment option reads the attempts, and scans fewer orders in each call', async () => {
  const { searchedTo, blocks } = await read({ paymentOptions: ['walleta_ussd'] });

  expect(searchedTo).toBeDefined();
  // For each of the 10,000 orders, one descent of the index of the attempts.
  expect(blocks).toBeLessThan(blocksOfAWalk + 10_000 * 3);
});

test('payment links are found by reading one page, however many other orders are newer', async () => {
  const links = { paymentTypes: ['LINK', 'QR'] as const };
  const first = await read({ ...links, limit: 3 });
  const rest = await read({ ...links, limit: 3, beforeId: first.searchedTo });

  expect([first.numbers, rest.numbers]).toEqual([[4, 3, 2].map(name), [1, 0].map(name)]);
  expect(rest.searchedTo).toBeUndefined();
  for (const { blocks } of [first, rest]) expect(blocks).toBeLessThan(blocksOfAPage);
});

test('a wallet’s transaction is found by reading one page', async () => {
  const page = await read({ providerTransactionId: 'TXN-1' });
  const { numbers, providerTransactionIds, orders: found, blocks } = page;

  expect(numbers).toEqual([name(0)]);
  expect([...providerTransactionIds]).toEqual([[found[0]?.id, 'TXN-1']]);
  expect((await read({ providerTransactionId: 'TXN-2' })).numbers).toEqual([]);
  expect(blocks).toBeLessThan(blocksOfAPage);
});

test('a call scans several times to fill a page, within its limits', async () => {
  const filter = orderFilter(merchantId, { ...rare, limit: 60 });
  const last = orderFilter(merchantId, {
    ...{ orderNumberPrefix: 'SEED-', statuses: ['FAILED'], paymentTypes: ['API'], createdTo: new Date(0) },
  });
  const searchFor = (bounds: Partial<SearchBounds>): SearchOrders =>
    createSearchOrders(orders.database, { ...searchBounds, monotonicMs: () => 0, ...bounds });

  expect((await searchFor({})(filter)).orders).toHaveLength(60);
  expect((await searchFor({ walks: 1 })(filter)).orders.length).toBeLessThan(60);
  let now = 0;
  expect((await searchFor({ monotonicMs: () => (now += 1_500) })(filter)).orders.length).toBeLessThan(60);
  expect(await searchFor({})(last)).toMatchObject({ orders: [], searchedTo: undefined });
});

const nothingAsked = {
  ...{ orderId: undefined, orderNumber: undefined, phone: undefined, providerTransactionId: '' },
};
const idOf = async (orderNumber: string) => (await read({ orderNumber })).orders[0]?.id ?? '';

test.each([
  ['an order id', () => idOf(name(0)), 'orderId'],
  ['an order_number', (): string => name(0), 'orderNumber'],
  ['a wallet’s transaction', (): string => 'TXN-1', 'providerTransactionId'],
  ['the phone of a payer', (): string => '+251955000001', 'phone'],
] as const)('%s is found over 500 merchants by a few steps in the index of each', async (_name, text, by) => {
  const find = createFindOrdersAnywhere(orders.database);
  const search = { ...nothingAsked, [by]: await text(), beforeId: undefined, limit: 50 };

  const { result, blocks } = await orders.counted(() => find(search));

  expect(result.orders.map(({ orderNumber }) => orderNumber)).toEqual([name(0)]);
  expect([...result.providerTransactionIds.values()]).toEqual(['TXN-1']);
  // Two environments of 500 merchants, four steps each at most.
  expect(blocks).toBeLessThan(2 * 500 * 4 + blocksOfAPage);
});

test('a phone’s orders over all merchants are read page by page', async () => {
  const find = createFindOrdersAnywhere(orders.database);
  const search = { ...nothingAsked, phone: '+251900000042' };
  const first = await find({ ...search, beforeId: undefined, limit: 2 });
  const rest = await find({ ...search, beforeId: first.lastId, limit: count });
  const numbers = [...first.orders, ...rest.orders].map(({ orderNumber }) => orderNumber);

  expect(first.orders).toHaveLength(2);
  expect(rest.lastId).toBeUndefined();
  expect(numbers).toEqual(rarely(50_000, 42));
});

test('a search of the request log without matches reads a bounded part of it in each call', async () => {
  const { client, database, counted } = orders;
  const logged = 60_000;
  await client.query(sql`
    insert into core.api_requests (merchant_id, environment, id, api_key_id, request_id, endpoint, method, path, status, reason,
      duration_micros, order_number, request_body, response_body)
    select ${stored}, 'SANDBOX', uuidv7(), uuidv7(), n, 'REGISTER', 'POST', '/', 200, '', 1, '', '', ''
    from generate_series(1, ${logged}::int) n`);
  await client.query('vacuum analyze core.api_requests');
  const { list } = createRequestLogStore({
    database,
    newId: newRandomId,
    now: () => new Date(),
    bounds: oneWalk,
  });
  const search = { merchantId: storedId('mer', merchantId), environment: 'SANDBOX', limit: 50 } as const;
  const none = {
    statuses: undefined,
    orderNumber: '',
    requestId: '',
    createdFrom: undefined,
    createdTo: undefined,
  };
  const searchFor = (own: Partial<RequestFilter>) =>
    counted(() => list({ ...search, ...none, endpoint: undefined, beforeId: undefined, ...own }));

  const newest = await searchFor({});
  const first = await searchFor({ endpoint: 'REFUND' });
  const last = await searchFor({ endpoint: 'REFUND', beforeId: first.result.searchedTo });
  const whole = await searchFor({ requestId: '1' });

  expect(newest.result.requests).toHaveLength(50);
  expect(newest.blocks).toBeLessThan(blocksOfAPage);
  expect(first.result).toEqual({ requests: [], searchedTo: expect.any(String) as unknown });
  expect(last.result).toEqual({ requests: [], searchedTo: undefined });
  expect(first.blocks).toBeLessThan(blocksOfAWalk);
  // Only what the first call has left.
  expect(last.blocks).toBeLessThan(first.blocks / 2);
  expect(whole.result.requests).toHaveLength(1);
  expect(whole.blocks).toBeLessThan(blocksOfAPage);
});
