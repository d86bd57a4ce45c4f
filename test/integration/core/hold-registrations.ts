import { waitUntil } from '../../support/wait-until.ts';
import { connectToDatabase } from '../../support/database-connections.ts';

/** Blocks every registration, like a lock that an operator takes by mistake. */
export interface HeldRegistrations {
  /** Resolves when this many statements wait for the lock. */
  readonly untilWaiting: (count?: number) => Promise<void>;
  readonly release: () => Promise<void>;
}

export async function holdRegistrations(databaseUrl: string): Promise<HeldRegistrations> {
  const client = await connectToDatabase(databaseUrl);
  // Allows every read, and the sweep's search for expired orders, but no insert.
  await client.query('begin; lock table core.orders in share mode');
  const waiting = async (): Promise<number> => {
    const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from pg_locks
      where not granted and relation = 'core.orders'::regclass
        and database = (select oid from pg_database where datname = current_database())`);
    return rows[0]?.count ?? 0;
  };
  return {
    untilWaiting: async (count = 1) => {
      await waitUntil(`${count} statements wait for the lock`, async () => (await waiting()) >= count);
    },
    release: () => client.end(),
  };
}
