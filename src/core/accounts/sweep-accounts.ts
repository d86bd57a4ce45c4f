import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import { sweepExpired } from '../database/sweep-expired.ts';
import { longestSessionMs } from './session-store.ts';

const tables = [
  { table: 'dashboard_sessions', end: 'expires_at' },
  { table: 'account_links', end: 'expires_at' },
  { table: 'account_tries', end: 'ends_at' },
  { table: 'account_help', end: 'expires_at' },
  { table: 'account_notices', end: 'expires_at' },
];

/** A minute more, for sessions that are written at this moment. */
const toleranceMs = 60_000;

// An ended session is left, so that a process that read it earlier cannot write it back.
const misdatedText = `
delete from core.dashboard_sessions
where expires_at > now() + make_interval(secs => $1 / 1000.0) and ended_at is null
returning 1`;

/**
 * Removes expired sessions, links and counts, in batches, and sessions that were written while the database's clock was ahead: they would
 * be valid for too long. Returns the number of rows.
 */
export async function sweepAccounts(pool: Pool, stop: Pick<AbortSignal, 'aborted'>): Promise<number> {
  const values = [longestSessionMs + toleranceMs];
  const misdated = await runStatement(pool, { text: misdatedText, values });
  return misdated.length + (await sweepExpired(pool, tables, stop));
}
