import { expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { correctDueTimes } from '../../../src/core/payments/correct-due-times.sql.ts';
import { insertRow } from '../../support/insert-row.ts';
import { keptLog } from '../../support/kept-log.ts';
import { openPool, sharedTestDatabase } from '../../support/shared-stack.ts';
import { insertAttempt, insertOrder, insertPayerPayment } from './stored-rows.ts';

const shared = sharedTestDatabase();

/** Minutes from now of an attempt's times, and of its due time and its lease after the correction. */
const attempts = [
  // Only a clock that was ahead stores these.
  { leases: 0, created: 30, due: 30, leased: null, after: [0, null] },
  { leases: 1, created: -5, due: 67, leased: null, after: [0, null] },
  { leases: 1, created: -5, due: 0, leased: 7, after: [0, 1] },
  { leases: 1, created: -5, due: 180, leased: 180, after: [1, 1] },
  { leases: 1, created: -5, due: 180, leased: 0.5, after: [1, 0.5] },
  // A right clock stores these. The last of them was decided while a worker that ended then had it.
  { leases: 0, created: 0, due: 30, leased: null, after: [30, null] },
  { leases: 0, created: 0.5, due: 30, leased: null, after: [30, null] },
  { leases: 0, created: 30, due: -1, leased: null, after: [-1, null] },
  { leases: 1, created: 30, due: 65, leased: null, after: [65, null] },
  { leases: 1, created: -5, due: 0, leased: 5, after: [0, 5] },
  { leases: 1, created: -5, due: null, leased: 180, after: [null, 180] },
];

test('work at the wallets is due at once if its times are of a clock that was ahead, and keeps the times of a right one', async () => {
  const pool = openPool({ connectionString: shared.url, max: 1 });
  const { logger, log } = keptLog();
  const correct = () => correctDueTimes({ pool, logger }, new AbortController().signal);
  await correct();
  // Within a transaction, the database's time stands still.
  await pool.query('begin');
  const { rows: clock } = await pool.query<{ now: Date }>('select now()');
  const at = (minutes: number | null) =>
    minutes === null ? null : new Date((clock[0]?.now.getTime() ?? 0) + minutes * 60_000);
  const merchant_id = v7();
  const ids: string[] = [];
  for (const { leases, created, due, leased } of attempts) {
    const times = { created_at: at(created), due_at: at(due), leased_until: at(leased) };
    const order_id = await insertOrder(pool, { merchant_id });
    ids.push(await insertAttempt(pool, { merchant_id, order_id, leases, ...times }));
  }
  const ahead = { tries: 1, created_at: at(0), updated_at: at(0), due_at: at(180) };
  const money = {
    ...{ merchant_id, environment: 'SANDBOX', payment_attempt_id: ids[0], payment_option: 'walleta_ussd' },
    ...{ provider_transaction_id: 't-1', currency: 'ETB', status: 'REVERSAL_DUE', detail: '' },
    ...{ maybe_sent: false, ...ahead },
  };
  await insertRow(pool, 'core.refunds', {
    ...{ ...money, id: v7(), refund_number: 'R-1', order_id: v7(), order_number: '1', amount_minor_units: 1 },
    ...{ amount_given: true, reason: '', requested_by: '' },
  });
  const stray = { ...money, id: v7(), reversal_id: v7(), amount: '1.00', kind: 'LATE' };
  await insertRow(pool, 'core.stray_payments', stray);
  await insertPayerPayment(pool, { ...ahead, status: 'OPEN' });
  // More than are corrected at once.
  await pool.query(`insert into core.payer_payments select more.* from core.payer_payments p, generate_series(1, 500) i,
    jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid(), 'provider_transaction_id', i)) more`);
  await correct();

  const minutes = (column: string) => `(extract(epoch from ${column} - now()) / 60)::numeric(9, 1)::float8`;
  const { rows } = await pool.query(
    `select array[${minutes('due_at')}, ${minutes('leased_until')}] as after
    from core.payment_attempts order by array_position($1::uuid[], id)`,
    [ids],
  );
  await pool.end();
  expect(rows).toEqual(attempts.map(({ after }) => ({ after })));
  expect(log.map(({ table, count }) => [table, count])).toEqual([
    ['payment_attempts', 5],
    ['refunds', 1],
    ['stray_payments', 1],
    ['payer_payments', 501],
  ]);
});
