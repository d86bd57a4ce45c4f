import type { Pool } from 'pg';
import { withoutTimeLimits } from '../../platform/database/session-options.ts';
import { allowSilence } from '../../platform/database/silent-connections.ts';
import { runStatement } from '../../platform/database/run-statement.ts';

/**
 * Collects the planner's statistics of tables that have rows but none, as in a new or a restored database. Without them, the
 * planner may choose an index that holds all orders of a merchant to find one of them. Autovacuum would come up to a minute
 * later (`autovacuum_naptime`), and comes for all later growth. Returns the names of the tables.
 */
export async function analyzeNewTables(pool: Pool): Promise<string[]> {
  const found = await runStatement<{ name: string }>(pool, {
    text: `
select format('core.%I', relname) as name from pg_class
where relnamespace = 'core'::regnamespace and relkind = 'r' and reltuples < 0 and pg_relation_size(oid) > 0`,
  });
  const names = found.map(({ name }) => name);
  if (names.length === 0) return names;
  const client = await pool.connect();
  try {
    allowSilence(client);
    await client.query(withoutTimeLimits);
    // Analyzing takes no lock that a reader or a writer waits for. Another core may do the same at the same time.
    for (const name of names) await client.query(`analyze (skip_locked) ${name}`);
  } finally {
    // Closes the connection, which resets the settings.
    client.release(true);
  }
  return names;
}
