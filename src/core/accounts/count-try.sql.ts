import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';

/** A limit of tries per time. */
export interface TryLimit {
  /** The name of the counter: the action and the person. Stored as a hash. */
  readonly counter: string;
  readonly max: number;
  readonly windowSeconds: number;
}

/**
 * Whether a count still applies: its time has not ended, and ends at most a minute later than that of a count that begins now. A count
 * that ends later began before the database's clock was set back, and would block its user for too long. The minute is for concurrent
 * calls.
 */
const isPresent = `t.ends_at > now() and t.ends_at <= now() + make_interval(secs => $2) + interval '1 minute'`;

// The database's clock and row lock make the count correct over all cores.
const countText = `
insert into core.account_tries as t (key, tries, ends_at) values ($1, 1, now() + make_interval(secs => $2))
on conflict (key) do update set
  tries = case when ${isPresent} then t.tries + 1 else 1 end,
  ends_at = case when ${isPresent} then t.ends_at else excluded.ends_at end
returning tries, ceil(extract(epoch from ends_at - now()) * 1000)::integer as left_ms`;

const countedText = `select tries from core.account_tries t where key = $1 and ${isPresent}`;
const fullText = `
select ceil(extract(epoch from ends_at - now()) * 1000)::integer as left_ms
from core.account_tries t where key = $1 and ${isPresent} and tries >= $3`;
const uncountText = `update core.account_tries set tries = tries - 1 where key = $1`;
const forgetText = `delete from core.account_tries where key = $1`;
const rememberText = `
insert into core.account_tries (key, tries, ends_at) values ($1, 0, now() + make_interval(secs => $2))
on conflict (key) do update set ends_at = excluded.ends_at`;
const isRememberedText = `select from core.account_tries where key = $1 and ends_at > now()`;

const keyOf = (name: string): Buffer => createHash('sha256').update(name).digest();

/** Counts a try before it is made. Above the limit, returns the wait in milliseconds; else undefined. */
export async function countTry(pool: Pool, limit: TryLimit): Promise<number | undefined> {
  const values = [keyOf(limit.counter), limit.windowSeconds];
  const [row] = await runStatement<{ tries: number; left_ms: number }>(pool, { text: countText, values });
  return row === undefined || row.tries <= limit.max ? undefined : row.left_ms;
}

/** The wait in milliseconds if the next try would be above the limit; else undefined. Counts nothing. */
export async function readWaitMs(pool: Pool, limit: TryLimit): Promise<number | undefined> {
  const values = [keyOf(limit.counter), limit.windowSeconds, limit.max];
  const [row] = await runStatement<{ left_ms: number }>(pool, { text: fullText, values });
  return row?.left_ms;
}

/** The present count of tries. */
export async function countedTries(pool: Pool, { counter, windowSeconds }: TryLimit): Promise<number> {
  const [row] = await runStatement<{ tries: number }>(pool, {
    text: countedText,
    values: [keyOf(counter), windowSeconds],
  });
  return row?.tries ?? 0;
}

/** Removes one try from the count. */
export async function uncountTry(pool: Pool, { counter }: TryLimit): Promise<void> {
  await runStatement(pool, { text: uncountText, values: [keyOf(counter)] });
}

/** Resets the count. */
export async function forgetTries(pool: Pool, { counter }: TryLimit): Promise<void> {
  await runStatement(pool, { text: forgetText, values: [keyOf(counter)] });
}

/** Records a fact for a limited time. */
export async function remember(pool: Pool, fact: string, seconds: number): Promise<void> {
  await runStatement(pool, { text: rememberText, values: [keyOf(fact), seconds] });
}

/** Whether the fact is still recorded. */
export async function isRemembered(pool: Pool, fact: string): Promise<boolean> {
  return (await runStatement(pool, { text: isRememberedText, values: [keyOf(fact)] })).length > 0;
}
