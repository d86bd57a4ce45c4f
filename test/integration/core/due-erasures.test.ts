import { expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { beginning } from '../../../src/contract/event-cursor.ts';
import { readDue, removeDue } from '../../../src/core/erasure/due-erasures.sql.ts';
import { createEraseDue } from '../../../src/core/erasure/erase-due.ts';
import type { EraseDueParts } from '../../../src/core/erasure/erase-due.ts';
import { readErasedOrders } from '../../../src/core/erasure/erased-orders.sql.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import type { StoredId } from '../../../src/contract/public-id.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sharedPool, sharedTestDatabase } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { insertMerchant } from './stored-rows.ts';

const testDatabase = sharedTestDatabase();
const pool = sharedPool(() => testDatabase.url, 4);
const minuteMs = 60_000;

const eraseDueWith = (parts: Partial<EraseDueParts> = {}) =>
  createEraseDue({
    database: { pool },
    erasureKey: Buffer.alloc(32),
    forgetPublished: () => Promise.resolve(true),
    gate: { isOpen: () => true },
    defaultDays: 0,
    newId: newRandomId,
    now: () => new Date(),
    machineNow: () => new Date(),
    monotonicMs: () => 0,
    logger: keptLog().logger,
    ...parts,
  });

test('ended periods are looked for after a wrong clock of the database was set back', async () => {
  let aheadMs = 1_000 * minuteMs;
  let monotonicMs = 0;
  const eraseDue = eraseDueWith({
    defaultDays: 30,
    now: () => new Date(Date.now() + aheadMs),
    monotonicMs: () => monotonicMs,
  });
  const examined = async () =>
    (
      await pool.query(`select distinct merchant_id from core.erasure_progress
        where merchant_id in (select id from core.merchants)`)
    ).rowCount;
  const stop = new AbortController().signal;
  await insertMerchant(pool);
  await eraseDue(stop);
  const before = await examined();
  await insertMerchant(pool);
  aheadMs = 0;
  monotonicMs += 10 * minuteMs;

  await eraseDue(stop);

  expect([before, await examined()]).toEqual([1, 2]);
});

test('an order with a requested erasure comes before orders of ended periods, and is not removed if it became due again', async () => {
  const [requestId, merchantId, requested, withCopies] = [v7(), v7(), v7(), v7()];
  await pool.query('truncate core.erasures_due');
  await pool.query(sql`insert into core.erasures_due (merchant_id, environment, order_id, due_at)
    select m, 'SANDBOX', gen_random_uuid(), now() - interval '1 day'
    from unnest(array[gen_random_uuid(), ${merchantId}::uuid]) m, generate_series(1, 3)`);
  await pool.query(sql`
    insert into core.erasure_requests values (${requestId}, '', null, 'operator', 1, 0, now())`);
  await pool.query(sql`
    insert into core.erasures_due (merchant_id, environment, order_id, request_id, obstacle, due_at)
    values (${merchantId}, 'SANDBOX', ${requested}, ${requestId}, '', now() - interval '2 minutes'),
      (${merchantId}, 'SANDBOX', ${withCopies}, ${requestId}, 'LATE_COPIES', now() - interval '1 minute'),
      (gen_random_uuid(), 'SANDBOX', gen_random_uuid(), ${requestId}, '', now() + interval '1 hour'),
      (${merchantId}, 'SANDBOX', gen_random_uuid(), ${requestId}, '', now() + interval '90 minutes'),
      (gen_random_uuid(), 'PRODUCTION', gen_random_uuid(), ${requestId}, '', now() - interval '1 hour')`);

  const due = await readDue(pool, ['SANDBOX'], 3);
  await pool.query(sql`
    update core.erasures_due set due_at = now() + interval '2 hours' where order_id = ${requested}`);
  await removeDue(pool, merchantId as StoredId<'mer'>, due);

  expect(due.map((each) => [each.merchantId, each.isRequested, each.needsRepeat])).toEqual([
    [merchantId, true, true],
    [merchantId, true, false],
    [merchantId, false, false],
  ]);
  expect(due.slice(0, 2).map(({ orderId }) => orderId)).toEqual([requested, withCopies]);
  const left = await readDue(pool, ['SANDBOX'], 10);
  expect(new Set(left.map(({ isRequested }) => isRequested))).toEqual(new Set([false]));
  expect((await pool.query(sql`select from core.erasures_due where order_id = ${requested}`)).rowCount).toBe(
    1,
  );
  expect((await pool.query(sql`select from core.erasures_due where order_id = ${withCopies}`)).rowCount).toBe(
    0,
  );
});

test('a reader whose place in the list of erased orders no longer exists reads the list again', async () => {
  // The numbers of a database that was restored on a server with lower ones.
  await pool.query(`
    insert into core.erased_orders (merchant_id, environment, order_id, from_sequence, to_sequence, erased_at, seal, xid)
    select gen_random_uuid(), 'SANDBOX', gen_random_uuid(), 1, 1, now(), '', '1' from generate_series(1, 3)`);

  const { orders: again } = await readErasedOrders(pool, { xid: '2', position: '2' }, 10);
  const first = await readErasedOrders(pool, beginning, 1);
  const { orders: others } = await readErasedOrders(pool, first.next, 10);

  expect([again.length, first.orders.length, others.length]).toEqual([3, 1, 2]);
});

test('a reader of the list of erased orders does not pass one that is committed later', async () => {
  const insert = `
    insert into core.erased_orders (merchant_id, environment, order_id, from_sequence, to_sequence, erased_at, seal)
    values (gen_random_uuid(), 'SANDBOX', gen_random_uuid(), 1, 1, now(), '')`;
  let { next } = await readErasedOrders(pool, beginning, 100);
  const holder = await pool.connect();
  await holder.query('begin');
  await holder.query(insert);
  await pool.query(insert);

  const meanwhile = await readErasedOrders(pool, next, 10);
  next = meanwhile.next;
  await holder.query('commit');
  holder.release();

  expect(meanwhile.orders).toEqual([]);
  await waitUntil(
    'both are listed',
    async () => (await readErasedOrders(pool, next, 10)).orders.length === 2,
  );
});

/** Payments that have ended and are listed for erasure. Returns their ids. */
async function listPayments(
  environment: string,
  count: number,
  requestId: string | null = null,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(sql`with made as (
      insert into core.payer_payments (id, environment, wallet, payment_option, provider_transaction_id, reference, payee, amount,
        currency, status, created_at, updated_at)
      select gen_random_uuid(), ${environment}, 'walleta', 'walleta_ussd', gen_random_uuid()::text, '0911',
        '600000', '1', 'ETB', 'NO_PAYMENT', now(), now()
      from generate_series(1, ${count}) returning id
    )
    insert into core.payer_erasures_due select id, ${requestId}::uuid, now() - interval '1 minute' from made
    returning payer_payment_id as id`);
  return rows.map(({ id }) => id);
}

const listed = async (): Promise<string[]> =>
  (
    await pool.query<{ id: string }>(`
      select payer_payment_id as id from core.payer_erasures_due order by payer_payment_id`)
  ).rows.map(({ id }) => id);

test('while the sandbox recovers, the data of production is erased', async () => {
  await pool.query('truncate core.erasures_due, core.payer_erasures_due');
  await pool.query(`insert into core.erasures_due (merchant_id, environment, order_id, due_at)
    select gen_random_uuid(), e, gen_random_uuid(), now() from unnest(array['SANDBOX', 'PRODUCTION']::core.environment[]) e`);
  const [waits] = await listPayments('SANDBOX', 1);
  await listPayments('PRODUCTION', 1);

  await eraseDueWith({ gate: { isOpen: (environment) => environment === 'PRODUCTION' } })(
    new AbortController().signal,
  );

  const { rows } = await pool.query(`
    select environment from core.erasures_due where obstacle = '' and due_at <= now()`);
  expect(rows).toEqual([{ environment: 'SANDBOX' }]);
  expect(await listed()).toEqual([waits]);

  // It opens while other data is erased.
  let asked = 0;
  await listPayments('PRODUCTION', 1);
  await eraseDueWith({ gate: { isOpen: (each) => each === 'PRODUCTION' || (asked += 1) > 2 } })(
    new AbortController().signal,
  );
  expect(await listed()).toEqual([]);
});

test('a payment with a requested erasure does not wait for orders of ended periods, nor for a locked payment', async () => {
  await pool.query('truncate core.erasures_due, core.payer_erasures_due');
  await pool.query(sql`insert into core.erasures_due (merchant_id, environment, order_id, due_at)
    select ${v7()}, 'SANDBOX', gen_random_uuid(), now() - interval '1 day' from generate_series(1, 51)`);
  const requestId = v7();
  await pool.query(sql`
    insert into core.erasure_requests values (${requestId}, '', null, 'operator', 1, 0, now())`);
  const [locked] = await listPayments('SANDBOX', 1);
  await listPayments('SANDBOX', 1, requestId);
  const holder = await pool.connect();
  await holder.query('begin');
  await holder.query(sql`select from core.payer_payments where id = ${locked} for update`);
  let rounds = 0;
  const firstRound = Object.assign(new AbortController().signal, {});
  Object.defineProperty(firstRound, 'aborted', { get: () => (rounds += 1) > 1 });

  await eraseDueWith()(firstRound);

  await holder.query('rollback');
  holder.release();
  expect(await listed()).toEqual([locked]);
  const { rows } = await pool.query('select due_at > now() as is_later from core.payer_erasures_due');
  expect(rows).toEqual([{ is_later: true }]);
});
