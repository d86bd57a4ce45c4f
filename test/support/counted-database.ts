import pg from 'pg';
import { openDatabase } from '../../src/core/database/database.ts';
import type { Database } from '../../src/core/database/database.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { openDatabase as openWebhooksDatabase } from '../../src/webhooks/database/database.ts';
import { createTestDatabase } from './test-database.ts';
import { sql } from './sql.ts';

/**
 * A database that counts the blocks that PostgreSQL reads, of tables and indexes, in memory or on disk. Other load on
 * the machine does not change that number.
 */
export interface CountedDatabase {
  /** The connection of the process's code. */
  readonly database: Database;
  /** The connection for rows that the test writes. */
  readonly client: pg.Client;
  /** Runs the work, and returns its result and the number of blocks that were read. */
  readonly counted: <T>(work: () => Promise<T>) => Promise<{ result: T; blocks: number }>;
  readonly close: () => Promise<void>;
}

/** The database of core. `name` is the connection's name in the database. */
export const openCountedDatabase = (name: string): Promise<CountedDatabase> =>
  openCounted(name, openDatabase, ['core.orders', 'core.payment_attempts', 'core.order_events']);

/** The database of webhooks. */
export const openCountedWebhooksDatabase = (name: string): Promise<CountedDatabase> =>
  openCounted(name, openWebhooksDatabase, ['webhooks.deliveries']);

async function openCounted(
  name: string,
  open: typeof openDatabase,
  tables: readonly string[],
): Promise<CountedDatabase> {
  const { url, drop } = await createTestDatabase();
  // One connection, because PostgreSQL counts the blocks of a connection when that connection reports them.
  const database = await open({
    url,
    poolSize: 1,
    applicationName: name,
    logger: createLogger({ process: 'test', instance: name, level: 'silent' }),
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // An automatic analyze or vacuum would make two measurements differ.
  for (const table of tables) await client.query(`alter table ${table} set (autovacuum_enabled = false)`);
  const blocksSoFar = async (): Promise<number> => {
    // Each connection reports its blocks now, so that those of the test's own statements are not counted later.
    for (const connection of [client, database.pool])
      await connection.query('select pg_stat_force_next_flush()');
    const { rows } = await client.query<{ count: number }>(sql`
      select sum(coalesce(heap_blks_read, 0) + coalesce(heap_blks_hit, 0) + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0))::int
        as count
      from pg_statio_user_tables where schemaname = split_part(${tables[0]}, '.', 1)`);
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
