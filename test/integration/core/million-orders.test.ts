import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { v7 } from 'uuid';
import { openDatabase } from '../../../src/core/database/database.ts';
import type { Database } from '../../../src/core/database/database.ts';
import { createSearchOrders } from '../../../src/core/orders/search-orders-use-case.ts';
import type { OrderFilter, SearchOrders } from '../../../src/core/orders/search-orders-use-case.ts';
import { createLogger } from '../../../src/runtime/logger.ts';
import { publicId } from '../../../src/runtime/public-id.ts';
import { seedOrders } from '../../support/seed-orders.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import type { TestDatabase } from '../../support/test-database.ts';

// What a search reads, by the blocks that PostgreSQL looks at: a busy machine does not change them, and bounds hold
// whatever a merchant looks for.

const count = Number(process.env['GATEHOUSE_TEST_ORDERS'] ?? 200_000);
const until = new Date('2026-11-21T00:00:00Z');
const days = 30;

let testDatabase: TestDatabase;
let database: Database;
let client: pg.Client;
let search: SearchOrders;
const stored = v7();

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  // One connection: what it has read is counted when it says so.
  database = await openDatabase({
    url: testDatabase.url,
    poolSize: 1,
    applicationName: 'million orders',
    logger: createLogger({ process: 'test', instance: 'million orders', level: 'silent' }),
  });
  client = new pg.Client({ connectionString: testDatabase.url });
  await client.connect();
  await client.query('alter table core.orders set (autovacuum_enabled = false)');
  await seedOrders(client, { merchantId: stored, environment: 'SANDBOX', count, until, days });
  search = createSearchOrders(database);
}, 240_000);

afterAll(async () => {
  await client.end();
  await database.close();
  await testDatabase.drop();
});

const filterOf = (own: Partial<OrderFilter>): OrderFilter => ({
  merchantId: publicId('mer', stored),
  environment: 'SANDBOX',
  statuses: [],
  createdFrom: undefined,
  createdTo: undefined,
  orderNumber: undefined,
  orderNumberPrefix: undefined,
  phone: undefined,
  currency: undefined,
  minMinorUnits: undefined,
  maxMinorUnits: undefined,
  paymentTypes: [],
  paymentOptions: [],
  beforeId: undefined,
  limit: 50,
  ...own,
});

const blocksSoFar = async (): Promise<number> => {
  await database.pool.query('select pg_stat_force_next_flush()');
  const { rows } = await client.query<{ count: number }>(
    `select sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0))::int as count
     from pg_statio_user_tables where schemaname = 'core'`,
  );
  return rows[0]?.count ?? 0;
};

async function read(own: Partial<OrderFilter>) {
  const before = await blocksSoFar();
  const page = await search(filterOf(own));
  return {
    ...page,
    numbers: page.orders.map(({ orderNumber }) => orderNumber),
    blocks: (await blocksSoFar()) - before,
  };
}

/** A page of 50, each looked up by its key, and the way down an index or two. */
const blocksOfAPage = 600;
/** 50,000 orders lie in some 2,600 blocks; the way there is in the index. */
const blocksOfAWalk = 9_000;
const name = (number: number): string => `SEED-${number}`;
const middle = new Date(until.getTime() - (days / 2) * 86_400_000);

test('the newest page reads a page', async () => {
  const { numbers, blocks } = await read({});

  expect(numbers[0]).toBe(name(count - 1));
  expect(blocks).toBeLessThan(blocksOfAPage);
});

test('a page in the middle reads no more than the first', async () => {
  const { numbers, blocks } = await read({ createdTo: middle });

  expect(numbers).toHaveLength(50);
  expect(blocks).toBeLessThan(blocksOfAPage);
});

test.each<[string, Partial<OrderFilter>, (numbers: readonly string[]) => void]>([
  ['an order_number', { orderNumber: name(7) }, (found) => expect(found).toEqual([name(7)])],
  [
    'the beginning that ten have',
    { orderNumberPrefix: name(11_111).slice(0, -1) },
    (found) => expect(new Set(found.map((number) => number.slice(0, 9)))).toEqual(new Set(['SEED-1111'])),
  ],
  [
    'the beginning that all have',
    { orderNumberPrefix: 'SEED-' },
    (found) => expect(found[0]).toBe(name(count - 1)),
  ],
  [
    'a phone',
    { phone: '+251900000042' },
    (found) =>
      expect(found).toEqual(
        Array.from({ length: count / 50_000 }, (_, n) => name(n * 50_000 + 42)).reverse(),
      ),
  ],
  ['a status of one in ten', { statuses: ['EXPIRED'] }, (found) => expect(found).toHaveLength(50)],
])('%s is found by reading a page', async (_name, own, check) => {
  const { numbers, blocks } = await read(own);

  check(numbers);
  // The beginning of a number is looked at before: by up to 20,000 entries of the index.
  expect(blocks).toBeLessThan(blocksOfAPage + (own.orderNumberPrefix === undefined ? 0 : 2_500));
});

test('a rare amount is found by walking on, each call within its bounds, without gap or repeat', async () => {
  const rare = { currency: 'ETB', minMinorUnits: 77_777n, maxMinorUnits: 77_777n };
  const seen: string[] = [];
  let beforeId: string | undefined;
  do {
    const page = await read({ ...rare, beforeId, limit: 60 });
    expect(page.blocks).toBeLessThan(blocksOfAWalk);
    seen.push(...page.numbers);
    beforeId = page.searchedTo;
  } while (beforeId !== undefined);

  expect(seen).toEqual(Array.from({ length: count / 1_000 }, (_, n) => name(n * 1_000)).reverse());
});

test('what nobody has ends the search, after as many calls as there are bounds in all orders', async () => {
  let calls = 0;
  let beforeId: string | undefined;
  do {
    const page = await read({ statuses: ['FAILED'], paymentTypes: ['LINK'], beforeId });
    expect(page.orders).toEqual([]);
    expect(page.blocks).toBeLessThan(blocksOfAWalk);
    beforeId = page.searchedTo;
    calls += 1;
  } while (beforeId !== undefined);

  expect(calls).toBeLessThanOrEqual(count / 50_000 + 1);
});

test('an option is looked up in the attempts, of fewer orders a call', async () => {
  const { searchedTo, blocks } = await read({ paymentOptions: ['WALLETA_USSD'] });

  expect(searchedTo).toBeDefined();
  expect(blocks).toBeLessThan(blocksOfAWalk);
});
