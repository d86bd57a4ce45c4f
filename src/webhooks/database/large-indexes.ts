import { largeIndexTask } from '../../platform/database/large-indexes.ts';
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

/** The task that creates the large indexes of webhooks. */
export const createIndexTask = ({ pool }: Pick<Database, 'pool'>): ((stop: AbortSignal) => Promise<void>) =>
  largeIndexTask({ pool, indexes, lockKey });
