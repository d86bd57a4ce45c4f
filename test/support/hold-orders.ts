import type pg from 'pg';
import { waitUntil } from './wait-until.ts';
import { connectToDatabase } from './database-connections.ts';

/** The orders of an extremely slow database: statements about them wait until a test releases them. */
export interface HeldOrders {
  /** The number of waiting statements of batches. */
  readonly statementsWaiting: () => Promise<number>;
  /** Resolves when exactly this many of them wait. */
  readonly untilStatementsWait: (count: number) => Promise<void>;
  /** Releases the statements that wait now, and holds the later ones. */
  readonly letThrough: () => Promise<void>;
  readonly letGo: () => Promise<void>;
}

/** The statements of batches. Background work, such as the sweep, may wait too. */
const batchStatement = {
  inserts: '%insert into core.orders (%unnest(%',
  reads: '%select k.ordinal,%join core.orders o%',
} as const;

/**
 * Holds all statements that insert orders, or also all that read them. Release them at the end, even after a failure.
 */
export async function holdOrders(databaseUrl: string, what: 'inserts' | 'reads'): Promise<HeldOrders> {
  const mode = what === 'reads' ? 'access exclusive' : 'share';
  const observer = await connectToDatabase(databaseUrl);
  const count = async (condition: string, values: unknown[] = []): Promise<number> => {
    const { rows } = await observer.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and ${condition}`,
      values,
    );
    return rows[0]?.count ?? 0;
  };
  const lock = async (holder: pg.Client): Promise<void> => {
    // On a busy machine, a test may hold the lock for longer than the time limit of idle transactions.
    await holder.query(`
      begin; set local idle_in_transaction_session_timeout = 0; lock table core.orders in ${mode} mode`);
  };
  let holder = await connectToDatabase(databaseUrl);
  await lock(holder);
  const statementsWaiting = (): Promise<number> => count('query like $1', [batchStatement[what]]);
  return {
    statementsWaiting,
    untilStatementsWait: async (wanted) => {
      await waitUntil(`${wanted} statements wait`, async () => (await statementsWaiting()) === wanted);
    },
    letThrough: async () => {
      // PostgreSQL grants locks in the order of requests. So later statements wait behind this lock.
      const next = await connectToDatabase(databaseUrl);
      const { rows } = await next.query<{ pid: number }>('select pg_backend_pid() as pid');
      const locked = lock(next);
      await waitUntil(
        'the next lock is asked for',
        async () => (await count('pid = $1', [rows[0]?.pid])) === 1,
      );
      await holder.end();
      await locked;
      holder = next;
    },
    letGo: async () => {
      await Promise.all([holder.end(), observer.end()]);
    },
  };
}
