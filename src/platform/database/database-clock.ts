import type { Pool } from 'pg';
import { runStatement } from './run-statement.ts';

/** The database's clock, told without asking each time. */
export interface DatabaseClock {
  readonly now: () => Date;
  /** Asks the database, and sets the clock if it is wrong. To be repeated: two clocks never run alike for ever. */
  readonly adjust: () => Promise<void>;
}

/**
 * Sessions end, prompts run out and phones are counted by one clock, that of the database; a machine whose own is wrong
 * by an hour must not end an order an hour early. `monotonicMs` is a clock that nobody sets, such as performance.now.
 * While nobody sets the database's, this one is never ahead of it: what is due at once is due for the database too.
 */
export async function openDatabaseClock(pool: Pool, monotonicMs: () => number): Promise<DatabaseClock> {
  let offsetMs: number | undefined;
  const adjust = async (): Promise<void> => {
    const askedAt = monotonicMs();
    const [row] = await runStatement<{ now: Date }>(pool, { text: 'select clock_timestamp() as now' });
    const answeredAt = monotonicMs();
    if (row === undefined) throw new Error('the database does not say what time it is');
    // It read its clock at some moment between the question and the answer.
    const lowest = row.now.getTime() - answeredAt;
    const highest = row.now.getTime() + 1 - askedAt;
    if (offsetMs === undefined || offsetMs < lowest || offsetMs > highest) offsetMs = lowest;
  };
  await adjust();
  return { now: () => new Date(monotonicMs() + (offsetMs ?? 0)), adjust };
}
