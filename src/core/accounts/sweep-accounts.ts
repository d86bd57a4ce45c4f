import type { Pool } from 'pg';
import { sweepExpired } from '../database/sweep-expired.ts';

const tables = [
  { table: 'dashboard_sessions', end: 'expires_at' },
  { table: 'account_links', end: 'expires_at' },
  { table: 'account_tries', end: 'ends_at' },
  { table: 'account_help', end: 'expires_at' },
  { table: 'account_notices', end: 'expires_at' },
];

/** Removes expired sessions, links and counts, in batches. Returns their number. */
export const sweepAccounts = (pool: Pool, stop: Pick<AbortSignal, 'aborted'>): Promise<number> =>
  sweepExpired(pool, tables, stop);
