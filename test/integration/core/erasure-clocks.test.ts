import { expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { createEraseDue } from '../../../src/core/erasure/erase-due.ts';
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
