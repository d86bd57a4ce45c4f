import type { Pool, PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { noHash } from './event-commitment.ts';
import { growRoot } from './day-root.ts';
import type { ChainHead, RootSigner } from './day-root.ts';

/** The signed state of all chains at the end of a UTC day. */
export interface DayRoot {
  /** As 2026-01-31. */
  readonly day: string;
  readonly previousRoot: Buffer;
  readonly root: Buffer;
  readonly signature: Buffer;
}

/** Days that are closed before events are sealed again, in a gateway that was stopped for long. */
const maxDays = 30;

/**
 * Stores the roots of the days that have ended since the last one, by the database's clock and by `now`. Only the holder of the seal's lock
 * may call it, outside of a transaction. A transaction that has written a root and reads the next day's heads would hold back the events of all
 * orders (ADR 4).
 */
export async function closeDays(
  client: PoolClient,
  { signer, now }: { readonly signer: RootSigner; readonly now: () => Date },
): Promise<void> {
  const days = await runStatement<{ day: string }>(client, {
    name: 'seal-open-days',
    text: `
select d::date::text as day
from generate_series(
  coalesce(
    (select max(day) + 1 from core.audit_roots),
    (select (min(sealed_at) at time zone 'UTC')::date from core.event_blocks where number = 1)
  ),
  ((least(now(), $1::timestamptz) at time zone 'UTC')::date - 1)::timestamp, interval '1 day'
) d
order by d limit ${maxDays}`,
    values: [now().toISOString()],
  });
  for (const { day } of days) await closeDay(client, signer, day);
}

async function closeDay(client: PoolClient, signer: RootSigner, day: string): Promise<void> {
  const [last] = await runStatement<{ root: Buffer }>(client, {
    text: 'select root from core.audit_roots where day < $1 order by day desc limit 1',
    values: [day],
  });
  const previousRoot = last?.root ?? noHash;
  const growing = growRoot(day, previousRoot);
  for (const head of await headsOf(client, day)) growing.add(head);
  const root = growing.finish();
  await client.query(
    'insert into core.audit_roots (day, previous_root, root, signature) values ($1, $2, $3, $4)',
    [day, previousRoot, root, signer.sign(day, root)],
  );
}

/** The number of chains that one statement searches. On a busy machine, the chains of 100,000 merchants take longer than a statement may. */
const chainsPerStatement = 10_000;

/**
 * The newest block of each merchant at the end of the day, in the order of a root. The blocks of a day that has ended do not change, so
 * several statements may read them.
 */
export async function headsOf(
  client: Pool | PoolClient,
  day: string,
  atOnce = chainsPerStatement,
): Promise<ChainHead[]> {
  const heads: ChainHead[] = [];
  let after: string | null = null;
  do {
    const [end]: { merchant_id: string }[] = await runStatement(client, {
      text: `
select merchant_id from core.event_chains where $1::uuid is null or merchant_id > $1
order by merchant_id offset $2 limit 1`,
      values: [after, atOnce - 1],
    });
    const until: string | null = end?.merchant_id ?? null;
    heads.push(...(await searchHeads(client, day, { after, until })));
    after = until;
  } while (after !== null);
  return heads;
}

/**
 * The newest blocks of the merchants after `after`, up to `until`. The time of a block is never earlier than that of its predecessor
 * (`seal-events.ts`), so the block is searched for by its number. A day is usually closed soon after its end. So the search goes back from
 * the newest block in growing steps, and then halves the range that is left.
 */
async function searchHeads(
  client: Pool | PoolClient,
  day: string,
  { after, until }: { readonly after: string | null; readonly until: string | null },
): Promise<ChainHead[]> {
  const rows = await runStatement<{ merchant_id: StoredId<'mer'>; number: string; hash: Buffer }>(client, {
    text: `
with recursive search as (
  -- The number that is searched for is at least low, and below high. A step of 0 means that low is known.
  select merchant_id, 0::bigint as low, number + 1 as high, 1::bigint as step from core.event_chains
  where ($2::uuid is null or merchant_id > $2) and ($3::uuid is null or merchant_id <= $3)
  union all
  select s.merchant_id, case when p.is_before then p.number else s.low end, case when p.is_before then s.high else p.number end,
    case when p.is_before or s.step = 0 then 0 else s.step * 2 end
  from search s
  cross join lateral (
    select n.number, coalesce((
      select b.sealed_at < ($1::date + 1)::timestamp at time zone 'UTC'
      from core.event_blocks b where b.merchant_id = s.merchant_id and b.number = n.number
    ), n.number = 0) as is_before
    from (select case when s.step = 0 then (s.low + s.high) / 2 else greatest(s.high - s.step, 0) end as number) n
  ) p
  where s.step > 0 or s.high - s.low > 1
)
select s.merchant_id, s.low::text as number, b.hash
from search s
-- The caller has set enable_sort to off, so the planner could choose a plain join that reads all blocks for each merchant.
cross join lateral (
  select hash from core.event_blocks where merchant_id = s.merchant_id and number = s.low limit 1
) b
where s.step = 0 and s.high - s.low = 1
order by s.merchant_id`,
    values: [day, after, until],
  });
  return rows.map((row) => ({ merchantId: row.merchant_id, number: BigInt(row.number), hash: row.hash }));
}

/** Whether more merchants than this have events. */
export async function hasMoreChains(pool: Pool, count: number): Promise<boolean> {
  const rows = await runStatement(pool, {
    text: 'select from core.event_chains offset $1 limit 1',
    values: [count],
  });
  return rows.length > 0;
}

export async function readRoots(client: Pool | PoolClient, day?: string): Promise<DayRoot[]> {
  const rows = await runStatement<{ day: string; previous_root: Buffer; root: Buffer; signature: Buffer }>(
    client,
    {
      text: `
select day::text as day, previous_root, root, signature from core.audit_roots
where $1::date is null or day = $1::date order by core.audit_roots.day`,
      values: [day ?? null],
    },
  );
  return rows.map(({ previous_root: previousRoot, ...row }) => ({ ...row, previousRoot }));
}
