import { expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { createRootSigner } from '../../../src/core/audit/day-root.ts';
import { readRoots } from '../../../src/core/audit/close-days.ts';
import { sealEvents } from '../../../src/core/audit/seal-events.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

const emptyDatabase = sharedTestDatabase({ migrated: true });
const database = sharedCoreDatabase('sealed-days', () => emptyDatabase.url, 2);

const dayMs = 24 * 60 * 60_000;
const never = new AbortController().signal;

test('no day is closed before core has ended it, although the clock of the database is ahead', async () => {
  const twelveDaysAgo = new Date(Date.now() - 12 * dayMs);
  let now = twelveDaysAgo;
  const parts = {
    database,
    sealKey: randomBytes(32),
    signer: createRootSigner(randomBytes(32)),
    randomBytes,
    now: () => now,
  };
  const addAndSeal = async (): Promise<Date> => {
    const before = await blockTimes();
    await database.pool.query(
      `insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
       values (gen_random_uuid(), 'SANDBOX', gen_random_uuid(), 1, gen_random_uuid(), 'CREATED', now(), '\\x')`,
    );
    // A transaction of another test may hold the event back.
    const after = await waitUntil('the event is sealed', async () => {
      await sealEvents(parts, never);
      const times = await blockTimes();
      return times.length > before.length && times;
    });
    return after.at(-1)!;
  };
  const blockTimes = async (): Promise<Date[]> => {
    const { rows } = await database.pool.query<{ sealed_at: string }>(
      'select sealed_at from core.event_blocks order by sealed_at, merchant_id',
    );
    return rows.map(({ sealed_at: sealedAt }) => new Date(sealedAt));
  };
  const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

  expect(await addAndSeal()).toEqual(twelveDaysAgo);
  now = new Date(twelveDaysAgo.getTime() + 2 * dayMs);
  expect(await addAndSeal()).toEqual(now);

  const roots = await readRoots(database.pool);
  expect(roots.map(({ day }) => day)).toEqual([
    dayOf(twelveDaysAgo),
    dayOf(new Date(twelveDaysAgo.getTime() + dayMs)),
  ]);
});
