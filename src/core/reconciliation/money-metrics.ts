import { Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import type { Database } from '../database/database.ts';
import { countUnbalanced } from './money-days.sql.ts';

/** Adds how many balances of merchants and ended days differ from the wallets' statements. All cores show the same values. */
export function addMoneyMetrics(metrics: Metrics, { pool }: Pick<Database, 'pool'>): void {
  metrics.addReading('money days', (registry) => {
    const unbalanced = new Gauge({
      name: 'gatehouse_money_days_unbalanced',
      help: "Balances of a merchant and a day, in the last 30 days, that differ from the wallet's statement.",
      labelNames: ['environment', 'wallet'],
      registers: [registry],
    });
    return async () => {
      unbalanced.reset();
      for (const { environment, wallet, count } of await countUnbalanced(pool))
        unbalanced.set({ environment: environment.toLowerCase(), wallet }, count);
    };
  });
}
