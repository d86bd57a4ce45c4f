import { lowestStoredIdAt } from '../../contract/public-id.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import type { Database } from '../database/database.ts';

export interface RequestDaysParts {
  readonly database: Pick<Database, 'pool'>;
  readonly now: () => Date;
}

/** Whole days for which requests are kept, beside the day that runs. */
export const keptDays = 7;
/** How far a facade's clock may be from the database's for its times to be believed. */
export const toleratedSkewMs = 24 * 60 * 60_000;

const dayMs = 24 * 60 * 60_000;
/** Tables are there before their day comes, however long no core ran this in time. */
const daysAhead = 3;
/** Any number that no other user of the database's advisory locks takes. */
const lockKey = 7_142_005;

const startOfDay = (at: Date): number => Math.floor(at.getTime() / dayMs) * dayMs;
const nameOf = (day: Date): string => `api_requests_${day.toISOString().slice(0, 10).replaceAll('-', '')}`;

/**
 * Makes the tables of the days to come and drops those of days that are no longer kept. Safe from several cores at once,
 * and repeating it changes nothing. Dropping waits for whoever reads the log, for a moment only: it is tried again.
 */
export async function keepRequestDays({ database, now }: RequestDaysParts): Promise<void> {
  const today = startOfDay(now());
  const kept = Array.from({ length: 1 + keptDays + daysAhead }, (_, index) => {
    const from = new Date(today + (index - keptDays) * dayMs);
    return { name: nameOf(from), from, to: new Date(from.getTime() + dayMs) };
  });
  const opening = ["set local lock_timeout = '2s'", `select pg_advisory_xact_lock(${lockKey})`];
  await inTransaction(database.pool, opening, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_inherits
       join pg_class on pg_class.oid = inhrelid where inhparent = 'core.api_requests'::regclass`,
    );
    const there = new Set(rows.map(({ name }) => name));
    for (const { name, from, to } of kept) {
      if (there.has(name)) continue;
      // Neither names nor bounds can be parameters; all of them are made of a date.
      const bounds = `from ('${lowestStoredIdAt(from)}') to ('${lowestStoredIdAt(to)}')`;
      await client.query(`create table core.${name} partition of core.api_requests for values ${bounds}`);
    }
    for (const name of there) {
      if (name < (kept[0]?.name ?? '')) await client.query(`drop table core."${name}"`);
    }
    const oldest = new Date(today - keptDays * dayMs);
    await client.query('delete from core.api_requests_unkept where hour < $1', [oldest]);
  });
}
