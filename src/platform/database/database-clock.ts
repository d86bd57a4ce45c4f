import type { Pool } from 'pg';
import { runStatement } from './run-statement.ts';

/** The database's clock, without a query for each reading. */
export interface DatabaseClock {
  readonly now: () => Date;
  /** Queries the database and corrects the clock. Call it repeatedly, because two clocks drift apart. */
  readonly adjust: () => Promise<void>;
}

/**
 * Expiry of orders and prompts and the limits of phones use one clock, that of the database. A machine whose clock is an hour
 * ahead must not expire an order an hour early. `monotonicMs` is a monotonic clock, such as performance.now. Just after it is set,
 * this clock is never ahead of the database's. Drift may bring it ahead by less than the time of one query.
 */
export async function openDatabaseClock(pool: Pool, monotonicMs: () => number): Promise<DatabaseClock> {
  let offsetMs: number | undefined;
  const adjust = async (): Promise<void> => {
    const requestedAt = monotonicMs();
    const [row] = await runStatement<{ now: Date }>(pool, { text: 'select clock_timestamp() as now' });
    const answeredAt = monotonicMs();
    if (row === undefined) throw new Error('the database did not return its time');
    // The database read its clock at some moment between the query and the answer.
    const lowest = row.now.getTime() - answeredAt;
    const highest = row.now.getTime() + 1 - requestedAt;
    if (offsetMs === undefined || offsetMs < lowest || offsetMs > highest) offsetMs = lowest;
  };
  await adjust();
  return { now: () => new Date(monotonicMs() + (offsetMs ?? 0)), adjust };
}
