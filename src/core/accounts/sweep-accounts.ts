import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';

const batch = 1_000;
const tables = [
  ['dashboard_sessions', 'expires_at'],
  ['account_links', 'expires_at'],
  ['account_tries', 'ends_at'],
  ['account_help', 'expires_at'],
  ['account_notices', 'expires_at'],
] as const;

// Several cores may run this concurrently. Each takes rows that no other has locked.
const sweepText = (table: string, end: string): string => `
delete from core.${table} where ctid = any (array(
  select ctid from core.${table} where ${end} < now() order by ${end} limit ${batch} for update skip locked
))
returning 1`;

/** Removes expired sessions, links and counts, in batches. Returns their number. */
export async function sweepAccounts(pool: Pool, stop: Pick<AbortSignal, 'aborted'>): Promise<number> {
  let swept = 0;
  for (const [table, end] of tables) {
    let found = batch;
    while (found === batch && !stop.aborted) {
      found = (await runStatement(pool, { text: sweepText(table, end) })).length;
      swept += found;
    }
  }
  return swept;
}
