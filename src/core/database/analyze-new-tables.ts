import type { Pool } from 'pg';
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
  // Analyzing takes no lock that a reader or a writer waits for. Another core may do the same at the same time.
  if (names.length > 0) await runStatement(pool, { text: `analyze (skip_locked) ${names.join(', ')}` });
  return names;
}
