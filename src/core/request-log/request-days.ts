import { lowestStoredIdAt } from '../../contract/public-id.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import type { Database } from '../database/database.ts';

export interface RequestDaysParts {
  readonly database: Pick<Database, 'pool'>;
  /** The database's clock. */
  readonly now: () => Date;
  /** The time of this machine's clock. */
  readonly machineNow: () => Date;
}

/** The number of whole days for which requests are kept, besides the current day. */
export const keptDays = 7;
/** The tolerated difference between a facade's clock and the database's. */
export const toleratedSkewMs = 24 * 60 * 60_000;

const dayMs = 24 * 60 * 60_000;
/** Tables are created this many days ahead, in case no core runs this in time. */
const daysAhead = 3;
/** An arbitrary number that no other advisory lock of this database uses. */
const lockKey = 7_142_005;

const startOfDay = (at: Date): number => Math.floor(at.getTime() / dayMs) * dayMs;
const nameOf = (day: Date): string => `api_requests_${day.toISOString().slice(0, 10).replaceAll('-', '')}`;

/**
 * Creates the tables of coming days by the database's clock, and drops those of days that have expired by both clocks. A clock that
 * is ahead for an hour must not delete the log. Safe to run concurrently and repeatedly. A drop waits only briefly for readers of the
 * log, and is retried later.
 */
export async function keepRequestDays({ database, now, machineNow }: RequestDaysParts): Promise<void> {
  const today = startOfDay(now());
  const oldest = new Date(Math.min(today, startOfDay(machineNow())) - keptDays * dayMs);
  const neededDays = Array.from({ length: 1 + keptDays + daysAhead }, (_, index) => {
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
    for (const { name, from, to } of neededDays) {
      if (there.has(name)) continue;
      // DDL takes no parameters for names or bounds. All of these derive from a date.
      const bounds = `from ('${lowestStoredIdAt(from)}') to ('${lowestStoredIdAt(to)}')`;
      await client.query(`create table core.${name} partition of core.api_requests for values ${bounds}`);
    }
    for (const name of there) {
      if (name < nameOf(oldest)) await client.query(`drop table core."${name}"`);
    }
    await client.query('delete from core.api_requests_unkept where hour < $1', [oldest]);
  });
}
