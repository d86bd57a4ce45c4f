import pg from 'pg';
import { openDatabase } from '../../src/core/database/database.ts';
import type { Database } from '../../src/core/database/database.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createTestDatabase } from './test-database.ts';

/**
 * A database of core's of which it is counted what PostgreSQL reads: by the blocks of tables and indexes that it looks at,
 * in memory or on disk, which a busy machine does not change.
 */
export interface CountedDatabase {
  /** What core's code works with. */
  readonly database: Database;
  /** For what the test itself writes. */
  readonly client: pg.Client;
  /** Does the work, and gives what came of it and how many blocks were looked at. */
  readonly counted: <T>(work: () => Promise<T>) => Promise<{ result: T; blocks: number }>;
  readonly close: () => Promise<void>;
}

const blocksOfCore = `
select sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0) + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0))::int
  as count
from pg_statio_user_tables where schemaname = 'core'`;

/** `name` is what the database knows the connection by. */
export async function openCountedDatabase(name: string): Promise<CountedDatabase> {
  const { url, drop } = await createTestDatabase();
  // One connection: what it has read is counted when it says so.
  const database = await openDatabase({
    url,
    poolSize: 1,
    applicationName: name,
    logger: createLogger({ process: 'test', instance: name, level: 'silent' }),
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // Whenever somebody analyzed or vacuumed by itself, two measurements would differ by it.
  for (const table of ['orders', 'payment_attempts', 'order_events'])
    await client.query(`alter table core.${table} set (autovacuum_enabled = false)`);
  const blocksSoFar = async (): Promise<number> => {
    // What each connection has done since it was last counted is counted now: the tests' own must not come in later.
    for (const connection of [client, database.pool])
      await connection.query('select pg_stat_force_next_flush()');
    const { rows } = await client.query<{ count: number }>(blocksOfCore);
    return rows[0]?.count ?? 0;
  };
  return {
    database,
    client,
    counted: async (work) => {
      const before = await blocksSoFar();
      const result = await work();
      return { result, blocks: (await blocksSoFar()) - before };
    },
    close: async () => {
      await client.end();
      await database.close();
      await drop();
    },
  };
}
