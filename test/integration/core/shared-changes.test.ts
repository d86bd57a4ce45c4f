import { randomUUID } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import { beforeAll, expect, test } from '@jest/globals';
import type { PublicId } from '../../../src/contract/public-id.ts';
import { analyzeNewTables } from '../../../src/core/database/analyze-new-tables.ts';
import { OrderRow } from '../../../src/core/database/order-entities.ts';
import { registerOrder } from '../../../src/core/domain/order.ts';
import { transition } from '../../../src/core/domain/transition.ts';
import { decisionOf } from '../../../src/core/payments/changes/change-orders.ts';
import type { OrderChanges } from '../../../src/core/payments/changes/change-orders.ts';
import { createAttemptIds } from '../../../src/core/payments/changes/attempt-ids.ts';
import { byOrderId } from '../../../src/core/payments/changes/read-order.ts';
import { createStartCheckoutPayment } from '../../../src/core/payments/checkout/start-checkout-payment.ts';
import { createPhoneLimit } from '../../../src/core/payments/phones/phone-limit.ts';
import { findAllByKey } from '../../../src/platform/database/find-by-key.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { buildWallet } from '../../unit/domain/build-order.ts';
import { newId, newOrderFacts, openOrderChanges } from './order-changes.ts';

// Calls that arrive in one turn of the event loop share a transaction.

const merchantId = publicId('mer', randomUUID());
const environment = 'SANDBOX' as const;
const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('shared-changes', () => testDatabase.url, 8);
let changes: OrderChanges;
let count = 0;

beforeAll(() => {
  changes = openOrderChanges(database);
});

async function addOrders(number: number): Promise<PublicId<'ord'>[]> {
  const all = Array.from({ length: number }, () =>
    registerOrder(newOrderFacts(merchantId, `shared-${(count += 1)}`)),
  );
  const scope = { requestId: 'shared', signal: new AbortController().signal };
  await Promise.all(all.map((changed) => changes.add(changed, scope)));
  return all.map(({ order }) => order.id);
}

/** Cancels orders. Fails for the order `broken`, as a write does that the database refuses. */
const canceller = (broken?: PublicId<'ord'>) =>
  changes.share({
    orders: byOrderId,
    nameOf: (id: PublicId<'ord'>) => ({ merchantId, environment, id }),
    requestIdOf: () => '',
    load: () => undefined,
    read: () => undefined,
    decide: (order, _context, now) => decisionOf(transition(order, { type: 'cancel' }, now)),
    async write(em, { changed }) {
      if (changed.order.id === broken) await em.execute(`select 'no number'::integer`);
      return changed.order.status;
    },
  });

/** The transactions that cancelled orders, and how many orders each cancelled. */
async function cancelledTogether(ids: readonly PublicId<'ord'>[]): Promise<number[]> {
  const { rows } = await database.pool.query<{ orders: number }>(sql`
    select count(*)::integer as orders from core.order_events
    where order_id = any (${ids.map((id) => storedId('ord', id))}) and sequence = 2 group by xid order by orders`);
  return rows.map(({ orders }) => orders);
}

test('calls that arrive together change their orders in one transaction', async () => {
  const ids = await addOrders(20);

  const answers = await Promise.all(ids.map(canceller()));

  expect(answers).toEqual(ids.map(() => ({ ok: true, value: 'FAILED' })));
  expect(await cancelledTogether(ids)).toEqual([20]);
});

test('a call that fails is rolled back alone', async () => {
  const ids = await addOrders(5);

  const answers = await Promise.allSettled(ids.map(canceller(ids[2])));

  expect(answers.map(({ status }) => status)).toEqual(
    ids.map((_, index) => (index === 2 ? 'rejected' : 'fulfilled')),
  );
  expect(await cancelledTogether(ids)).toEqual([1, 1, 1, 1]);
});

test('a refusal and an unknown order do not affect the other calls', async () => {
  const ids = await addOrders(3);
  const [first = ids[0]] = ids;
  const absent = newId('ord', new Date());

  const answers = await Promise.all([...ids, first, absent].flatMap((id) => id ?? []).map(canceller()));

  expect(answers).toMatchObject([
    { ok: true },
    { ok: true },
    { ok: true },
    { ok: false, error: { type: 'order_is_final', status: 'FAILED' } },
    { ok: false, error: 'not_found' },
  ]);
});

test('an order that another transaction holds delays only its own call', async () => {
  const ids = await addOrders(4);
  const [held] = ids;
  if (held === undefined) throw new Error('no order');
  const cancel = canceller();
  let isHeldAnswered = false;
  const holder = await database.pool.connect();
  await holder.query('begin');
  await holder.query(sql`select from core.orders
    where merchant_id = ${storedId('mer', merchantId)} and id = ${storedId('ord', held)} for update`);

  const waiting = cancel(held).finally(() => (isHeldAnswered = true));
  const others = await Promise.all(ids.slice(1).map(cancel));

  expect(others).toEqual(ids.slice(1).map(() => ({ ok: true, value: 'FAILED' })));
  expect(isHeldAnswered).toBe(false);
  await holder.query('commit');
  holder.release();
  expect(await waiting).toEqual({ ok: true, value: 'FAILED' });
});

test('payments of checkouts that arrive together share a transaction, and each phone is refused alone', async () => {
  const phoneLimit = createPhoneLimit({ promptsPerTenMinutes: 5, random: Math.random });
  const start = createStartCheckoutPayment({
    ...{ changes, phoneLimit, wallets: [buildWallet('any')] },
    attemptIds: createAttemptIds(newId, Buffer.alloc(32)),
    fairly: (_owner, _signal, call) => call(),
  });
  const pay = (orderId: PublicId<'ord'>, index: number) => {
    const phone = { asGiven: `09115${10_000 + index}`, e164: `+2519115${10_000 + index}` };
    return start({
      subject: { merchantId, environment, orderId },
      browserSecret: 'b',
      paymentOption: 'walleta_ussd',
      ...{ phone, asked: { merchantId, environment, phone: phone.e164, network: 'n' } },
      ...{ requestId: '', signal: new AbortController().signal },
    });
  };
  const [first, ...others] = await addOrders(11);
  if (first === undefined) throw new Error('no order');
  await pay(first, 3);

  const answers = await Promise.allSettled([...others.map(pay), pay(first, 3)]);

  const started = { status: 'fulfilled', value: { ok: true, value: { attemptCount: 1 } } };
  const refused = { status: 'rejected', reason: { code: Code.ResourceExhausted } };
  expect(answers).toMatchObject([...others.map((_, index) => (index === 3 ? refused : started)), started]);
  const { rows } = await database.pool.query(sql`
    select count(distinct o.xmin::text)::integer as transactions, count(*)::integer as attempts,
      count(o.checkout_browser_hash)::integer as bound, array_agg(distinct a.network) as networks,
      array_agg(distinct a.prompt_place) as kinds
    from core.payment_attempts a join core.orders o on o.merchant_id = a.merchant_id and o.id = a.order_id
    where o.id = any (${others.map((id) => storedId('ord', id))})`);
  expect(rows).toEqual([{ transactions: 1, attempts: 9, bound: 9, networks: ['n'], kinds: ['COMMON'] }]);
});

test('an order is found by its own index from the moment that its table has statistics', async () => {
  const [order] = await addOrders(2_000);
  if (order === undefined) throw new Error('no order');

  expect(await analyzeNewTables(database.pool)).toContain('core.orders');

  const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(sql`
    explain select from core.orders where merchant_id = ${storedId('mer', merchantId)}
    and environment = 'SANDBOX' and id = ${storedId('ord', order)}`);
  expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('orders_pkey');
  expect(await analyzeNewTables(database.pool)).not.toContain('core.orders');
});

type OrderKey = Awaited<ReturnType<typeof addKeys>>[number];
const addKeys = async (number: number) =>
  (await addOrders(number)).map((id) => ({
    ...{ merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) },
  }));

test('rows that are found by their keys equal those of the ORM, in a transaction and outside', async () => {
  const keys = (await addKeys(3)) as [OrderKey, OrderKey, OrderKey];
  const [first, ...others] = keys;
  const absent = { ...first, id: storedId('ord', publicId('ord', randomUUID())) };
  const expected = await database.fork().find(OrderRow, { $or: keys }, { orderBy: { id: 'asc' } });
  const find = async (em = database.fork()) =>
    [
      ...(await findAllByKey(em, OrderRow, [...others, absent])),
      ...(await findAllByKey(em, OrderRow, [{ ...first }])),
    ].toSorted((one, other) => (one.id < other.id ? -1 : 1));

  expect(await find()).toEqual(expected);
  expect(await database.fork().transactional(find)).toEqual(expected);
  expect(await findAllByKey(database.fork(), OrderRow, [absent])).toEqual([]);
});

test('a row that is read again keeps a change that is not written yet', async () => {
  const [key, other] = (await addKeys(2)) as [OrderKey, OrderKey];
  const em = database.fork();
  const row = await em.findOneOrFail(OrderRow, key);
  row.reason = 'changed';

  const found = await findAllByKey(em, OrderRow, [key, other]);

  expect(found[0]).toBe(row);
  expect(found.map(({ reason }) => reason)).toEqual(['changed', 'Two coffees']);
});
