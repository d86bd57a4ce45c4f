import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { createSearchOrders } from '../../../src/core/orders/search-orders-use-case.ts';
import type { OrderFilter, SearchOrders } from '../../../src/core/orders/search-orders-use-case.ts';
import { publicId } from '../../../src/runtime/public-id.ts';
import { openCountedDatabase } from '../../support/counted-database.ts';
import type { CountedDatabase } from '../../support/counted-database.ts';
import { orderFilter } from '../../support/order-filter.ts';
import { seedOrders } from '../../support/seed-orders.ts';

// What a search reads, by the blocks that PostgreSQL looks at: a busy machine does not change them, and bounds hold
// whatever a merchant looks for.

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
  search = createSearchOrders(orders.database);
}, 240_000);

afterAll(() => orders.close());

async function read(own: Partial<OrderFilter>) {
  const { result, blocks } = await orders.counted(() => search(orderFilter(merchantId, own)));
  return { ...result, numbers: result.orders.map(({ orderNumber }) => orderNumber), blocks };
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
