import { createLargeIndexes } from '../../platform/database/large-indexes.ts';
import type { LargeIndex } from '../../platform/database/large-indexes.ts';
import type { Database } from './database.ts';

const lockKey = 7_142_105;

const indexes: readonly LargeIndex[] = [
  {
    // Lists of one environment. Without it, a list of the sandbox reads all newer deliveries of production.
    name: 'deliveries_environment',
    table: 'webhooks.deliveries',
    definition: '(merchant_id, environment, id)',
  },
];

/** Returns the task that creates the large indexes of webhooks. Once they are there, it does nothing. */
export function createIndexTask({ pool }: Pick<Database, 'pool'>): (stop: AbortSignal) => Promise<void> {
  let areThere = false;
  return async (stop) => {
    areThere ||= await createLargeIndexes({ pool, indexes, lockKey }, stop);
  };
}
