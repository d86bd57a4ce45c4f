import { Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import type { Database } from '../database/database.ts';
import type { Wallet } from '../domain/wallet.ts';
import { readMissingDays } from './missing-days.sql.ts';
import { countUnbalanced } from './money-days.sql.ts';

export interface MoneyMetricsParts {
  readonly database: Pick<Database, 'pool'>;
  readonly wallets: readonly Wallet[];
  readonly now: () => Date;
}

/** Adds the numbers of balances that differ from the wallets' statements, and of days that were not compared. All cores show the same values. */
export function addMoneyMetrics(metrics: Metrics, { database, wallets, now }: MoneyMetricsParts): void {
  const { pool } = database;
  const compared = wallets.filter(({ reconcile }) => reconcile);
  const anyDay = { wallet: undefined, environment: undefined, merchantId: undefined, date: undefined };
  metrics.addReading('money days', (registry) => {
    const labels = { labelNames: ['environment', 'wallet'] as const, registers: [registry] };
    const unbalanced = new Gauge({
      name: 'gatehouse_money_days_unbalanced',
      help: "Balances of a merchant and a day, in the last 30 days, that differ from the wallet's statement.",
      ...labels,
    });
    const missing = new Gauge({
      name: 'gatehouse_money_days_missing',
      help: "Days with money, of the last 30 that have ended, whose balance is missing: the wallet's statement was not compared.",
      ...labels,
    });
    return async () => {
      const counts = await countUnbalanced(pool);
      const days = await readMissingDays(pool, compared, anyDay, now());
      startAtZero(unbalanced, compared);
      for (const { environment, wallet, count } of counts)
        unbalanced.set({ environment: environment.toLowerCase(), wallet }, count);
      startAtZero(missing, compared);
      // The statement of a removed account can never be read, so an alert would only end with the 30 days.
      for (const { environment, wallet } of days.filter((each) => !each.is_removed))
        missing.inc({ environment: environment.toLowerCase(), wallet });
    };
  });
}

/** A wallet without such days has the value 0. Without a value, the last one above 0 would hold the alert for 15 minutes more. */
function startAtZero(gauge: Gauge<'environment' | 'wallet'>, wallets: readonly Wallet[]): void {
  gauge.reset();
  for (const { id, environments } of wallets)
    for (const environment of environments)
      gauge.set({ environment: environment.toLowerCase(), wallet: id }, 0);
}
