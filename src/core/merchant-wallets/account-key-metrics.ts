import { Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Database } from '../database/database.ts';

export interface AccountKeyMetricsParts {
  readonly database: Pick<Database, 'pool'>;
  /** The name of the first key. */
  readonly keyName: string;
}

/** Adds how many accounts still need another key than the first, which must not be removed from the settings. */
export function addAccountKeyMetrics(metrics: Metrics, { database, keyName }: AccountKeyMetricsParts): void {
  metrics.addReading('wallet account keys', (registry) => {
    const accounts = new Gauge({
      name: 'gatehouse_wallet_accounts_with_old_key',
      help: 'Own wallet accounts of merchants that are encrypted with another key than the first one of this core.',
      registers: [registry],
    });
    return async () => {
      const [row] = await runStatement<{ count: number }>(database.pool, {
        text: 'select count(*)::integer as count from core.wallet_accounts where key_name <> $1',
        values: [keyName],
      });
      accounts.set(row?.count ?? 0);
    };
  });
}
