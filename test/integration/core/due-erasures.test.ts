import { expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { beginning } from '../../../src/contract/event-cursor.ts';
import { readDue } from '../../../src/core/erasure/due-erasures.sql.ts';
import { createEraseDue } from '../../../src/core/erasure/erase-due.ts';
import { readErasedOrders } from '../../../src/core/erasure/erased-orders.sql.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sharedPool, sharedTestDatabase } from '../../support/shared-stack.ts';

const testDatabase = sharedTestDatabase();
const pool = sharedPool(() => testDatabase.url, 4);
const minuteMs = 60_000;

async function addMerchant(): Promise<void> {
  await pool.query(
    `insert into core.merchants (id, name, status, production_activated, session_lifetime_seconds, created_at, updated_at)
     values ($1, 'Shop', 'ACTIVE', false, 1800, now(), now())`,
    [v7()],
  );
}

test('ended periods are looked for after a wrong clock of the database was set back', async () => {
  let aheadMs = 1_000 * minuteMs;
  let monotonicMs = 0;
  const eraseDue = createEraseDue({
    database: { pool },
    erasureKey: Buffer.alloc(32),
    forgetPublished: () => Promise.resolve(true),
    gate: { isOpen: () => true },
    defaultDays: 30,
    newId: newRandomId,
    now: () => new Date(Date.now() + aheadMs),
    machineNow: () => new Date(),
    monotonicMs: () => monotonicMs,
    logger: keptLog().logger,
  });
  const examined = async () =>
    (
      await pool.query(
        'select distinct merchant_id from core.erasure_progress where merchant_id in (select id from core.merchants)',
      )
    ).rowCount;
  const stop = new AbortController().signal;
  await addMerchant();
  await eraseDue(stop);
  const before = await examined();
  await addMerchant();
  aheadMs = 0;
  monotonicMs += 10 * minuteMs;

  await eraseDue(stop);

  expect([before, await examined()]).toEqual([1, 2]);
});

test('an order that a person asked for comes before those of ended periods that are due for longer', async () => {
  const [requestId, merchantId, requested] = [v7(), v7(), v7()];
  await pool.query('truncate core.erasures_due');
  await pool.query(
    `insert into core.erasures_due (merchant_id, environment, order_id, due_at)
     select m, 'SANDBOX', gen_random_uuid(), now() - interval '1 day' from unnest(array[gen_random_uuid(), $1::uuid]) m, generate_series(1, 3)`,
    [merchantId],
  );
  await pool.query(`insert into core.erasure_requests values ($1, '', null, 'operator', 1, 0, now())`, [
    requestId,
  ]);
  await pool.query(
    `insert into core.erasures_due (merchant_id, environment, order_id, request_id, due_at) values ($1, 'SANDBOX', $2, $3, now())`,
    [merchantId, requested, requestId],
  );

  const due = await readDue(pool, 2);

  expect(due.map((each) => [each.merchantId, each.isRequested])).toEqual([
    [merchantId, true],
    [merchantId, false],
  ]);
  expect(due[0]?.orderId).toBe(requested);
});

test('a reader whose place in the list of erased orders no longer exists reads the list again', async () => {
  // The numbers of a database that was restored on a server with lower ones.
  await pool.query(
    `insert into core.erased_orders (merchant_id, environment, order_id, from_sequence, to_sequence, erased_at, seal, xid)
     select gen_random_uuid(), 'SANDBOX', gen_random_uuid(), 1, 1, now(), '', '1' from generate_series(1, 3)`,
  );

  const { orders: again } = await readErasedOrders(pool, { xid: '2', position: '2' }, 10);
  const first = await readErasedOrders(pool, beginning, 1);
  const { orders: others } = await readErasedOrders(pool, first.next, 10);

  expect([again.length, first.orders.length, others.length]).toEqual([3, 1, 2]);
});
