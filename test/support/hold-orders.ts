import pg from 'pg';
import { waitUntil } from './wait-until.ts';

/** The orders as a database at its slowest has them: statements about them wait until they are let go. */
export interface HeldOrders {
  /** How many of the statements that batches are made into wait. */
  readonly statementsWaiting: () => Promise<number>;
  /** Resolves when exactly this many of them wait. */
  readonly untilStatementsWait: (count: number) => Promise<void>;
  /** Lets through what waits now, and holds up what comes after it. */
  readonly letThrough: () => Promise<void>;
  readonly letGo: () => Promise<void>;
}

/** Holds up all statements that insert orders, or all that read them too. Let go in the end, whatever happens. */
export async function holdOrders(databaseUrl: string, what: 'inserts' | 'reads'): Promise<HeldOrders> {
  const mode = what === 'reads' ? 'access exclusive' : 'share';
  const observer = await connect(databaseUrl);
  const count = async (condition: string, values: unknown[] = []): Promise<number> => {
    const { rows } = await observer.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and ${condition}`,
      values,
    );
    return rows[0]?.count ?? 0;
  };
  const lock = async (holder: pg.Client): Promise<void> => {
    // On a busy machine a test may hold the lock for longer than idle transactions may last.
    await holder.query(
      `begin; set local idle_in_transaction_session_timeout = 0; lock table core.orders in ${mode} mode`,
    );
  };
  let holder = await connect(databaseUrl);
  await lock(holder);
  // Batches come as arrays; the sweep, which may have to wait as well, does not.
  const statementsWaiting = (): Promise<number> => count(`query like '%unnest(%'`);
  return {
    statementsWaiting,
    untilStatementsWait: async (wanted) => {
      await waitUntil(`${wanted} statements wait`, async () => (await statementsWaiting()) === wanted);
    },
    letThrough: async () => {
      // Whoever asks for a lock waits behind all that asked before: so do those that ask later, behind this one.
      const next = await connect(databaseUrl);
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

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  return client;
}
