import type { Database } from '../../../src/core/database/database.ts';
import { runChecks } from '../../../src/core/diagnostics/run-checks.ts';

/** The checks of doctor in a core of which only the database may be out of order. */
export const checksOfCore = (database: Database) =>
  runChecks({
    database,
    hasMasterKey: () => Promise.resolve(true),
    broker: { isConnected: () => true, isAnswering: () => Promise.resolve(true) },
    configuredWallets: [],
    stream: 'ORDERS',
    now: () => new Date(),
  });

/** The first of them, which is about the database itself. */
export async function checkOfDatabase(database: Database) {
  const [check] = await checksOfCore(database);
  return check!;
}
