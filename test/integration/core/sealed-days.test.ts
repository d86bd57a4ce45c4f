import { describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import { createRootSigner } from '../../../src/core/audit/day-root.ts';
import { headsOf, readRoots } from '../../../src/core/audit/close-days.ts';
import { sealEvents } from '../../../src/core/audit/seal-events.ts';
import { verifyEvents } from '../../../src/core/audit/verify-events.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';

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
    erasureKey: randomBytes(32),
    signer: createRootSigner(randomBytes(32)),
    randomBytes,
    now: () => now,
  };
  const addAndSeal = async (): Promise<Date> => {
    const before = await blockTimes();
    await database.pool.query(`
      insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
      values (gen_random_uuid(), 'SANDBOX', gen_random_uuid(), 1, gen_random_uuid(), 'CREATED', now(), '\\x')`);
    // A transaction of another test may hold the event back.
    const after = await waitUntil('the event is sealed', async () => {
      await sealEvents(parts, never);
      const times = await blockTimes();
      return times.length > before.length && times;
    });
    return after.at(-1)!;
  };
  const blockTimes = async (): Promise<Date[]> => {
    const { rows } = await database.pool.query<{ sealed_at: string }>(`
      select sealed_at from core.event_blocks order by sealed_at, merchant_id`);
    return rows.map(({ sealed_at: sealedAt }) => new Date(sealedAt));
  };
  const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

  expect(await addAndSeal()).toEqual(twelveDaysAgo);
  // The first moment of a day is not part of the day before it.
  now = new Date(`${dayOf(new Date(twelveDaysAgo.getTime() + 2 * dayMs))}T00:00:00Z`);
  expect(await addAndSeal()).toEqual(now);

  const roots = await readRoots(database.pool);
  expect(roots.map(({ day }) => day)).toEqual([
    dayOf(twelveDaysAgo),
    dayOf(new Date(twelveDaysAgo.getTime() + dayMs)),
  ]);
  const summary = { events: 0, erased: 0, waiting: 0, orders: 0, incomparable: 0, blocks: 0, roots: 0 };
  for await (const finding of verifyEvents(parts, { merchantId: undefined, keptRoots: [] }, summary))
    expect(finding).toBe('no finding');
  expect(summary).toMatchObject({ blocks: 2, roots: 2 });
});

describe('the newest blocks of a day', () => {
  /** Blocks of a merchant with these hours of their times, counted from the first day. */
  async function addChain(hours: readonly number[]): Promise<void> {
    const merchantId = v7();
    await database.pool.query(sql`
      insert into core.event_blocks (merchant_id, number, previous_hash, hash, seal, sealed_at, first_position, last_position, order_ids,
        sequences, salts, commitments)
      select ${merchantId}, number, '', int8send(number), '',
        timestamptz '2020-01-01T00:00:00Z' + hour * interval '1 hour', number, number,
        '{}', '{}', '', ''
      from unnest(${hours}::integer[]) with ordinality as each (hour, number)`);
    await database.pool.query(sql`insert into core.event_chains (merchant_id, number, hash)
      values (${merchantId}, ${hours.length}, ${Buffer.alloc(8)})`);
  }

  test('are those before its end, in chains of any length, with any number of chains for each statement', async () => {
    await addChain([0]);
    await addChain([24]);
    await addChain([23, 24, 24, 47, 48]);
    await addChain(Array.from({ length: 500 }, (_, index) => index));
    await addChain(Array.from({ length: 333 }, (_, index) => Math.floor(index / 100) * 24 + 12));
    await addChain(Array.from({ length: 64 }, () => 30));

    for (let day = 0; day < 24; day += 1) {
      const date = new Date(Date.UTC(2020, 0, day)).toISOString().slice(0, 10);
      const { rows } = await database.pool.query<{ merchant_id: string; number: string }>(sql`
        select merchant_id, max(number)::text as number from core.event_blocks
        where sealed_at < (${date}::date + 1)::timestamp at time zone 'UTC' group by merchant_id order by merchant_id`);
      for (const atOnce of [1, 3, 10_000]) {
        const heads = await headsOf(database.pool, date, atOnce);
        const found = heads.map((head) => ({ merchant_id: head.merchantId, number: String(head.number) }));
        expect([date, atOnce, found]).toEqual([date, atOnce, rows]);
      }
    }
  });

  test('are read within the time of a statement although the sealing avoids sorts', async () => {
    const client = await database.pool.connect();
    const day = '2019-01-01';
    try {
      await client.query(`with chains as (
          insert into core.event_chains (merchant_id, number, hash) select gen_random_uuid(), 10, '' from generate_series(1, 6000)
          returning merchant_id
        )
        insert into core.event_blocks (merchant_id, number, previous_hash, hash, seal, sealed_at, first_position, last_position, order_ids,
          sequences, salts, commitments)
        select merchant_id, number, '', '', '', '2019-01-01', number, number, '{}', '{}', '', ''
        from chains cross join generate_series(1, 10) number`);
      await client.query('analyze core.event_chains, core.event_blocks');
      await client.query('set enable_sort = off');

      expect(await headsOf(client, day)).toHaveLength(6_000);
    } finally {
      await client.query('reset enable_sort');
      client.release();
    }
  });
});
