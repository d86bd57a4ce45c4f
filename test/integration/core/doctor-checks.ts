import type { Database } from '../../../src/core/database/database.ts';
import { runChecks } from '../../../src/core/diagnostics/run-checks.ts';
import type { ChecksParts } from '../../../src/core/diagnostics/run-checks.ts';

const broker: ChecksParts['broker'] = {
  isConnected: () => true,
  isAnswering: () => Promise.resolve(true),
  requireStore: () => Promise.resolve(),
};

/** The checks of doctor in a core of which only these parts may be out of order. */
export const checksOfCore = (database: Database, own: Partial<ChecksParts> = {}) =>
  runChecks({
    database,
    hasMasterKey: () => Promise.resolve(true),
    broker,
    unreadableAccounts: () => Promise.resolve([]),
    configuredWallets: [],
    stream: 'ORDERS',
    now: () => new Date(),
    ...own,
  });

/** The first of them, which is about the database itself. */
export async function checkOfDatabase(database: Database) {
  const [check] = await checksOfCore(database);
  return check!;
}
