import { Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Database } from '../database/database.ts';
import type { PaymentGate } from '../database/payment-gate.ts';

export interface RecoveryMetricsParts {
  readonly database: Pick<Database, 'pool'>;
  readonly gate: Pick<PaymentGate, 'isOpen'>;
}

const environments = ['SANDBOX', 'PRODUCTION'] as const;

/**
 * Adds whether each environment takes payments, which it does not while a restored database is compared with the wallets. Also adds
 * whether an operator must repeat requests for erasure that a restore lost.
 */
export function addRecoveryMetrics(
  metrics: Metrics,
  { database: { pool }, gate }: RecoveryMetricsParts,
): void {
  metrics.addReading('recovery', (registry) => {
    const closed = new Gauge({
      name: 'gatehouse_recovery_closed',
      help: 'Whether an environment takes no payments because the database was restored: 1 or 0.',
      labelNames: ['environment'],
      registers: [registry],
    });
    return () => {
      for (const environment of environments)
        closed.set({ environment: environment.toLowerCase() }, gate.isOpen(environment) ? 0 : 1);
      return Promise.resolve();
    };
  });
  metrics.addReading('lost erasures', (registry) => {
    const lost = new Gauge({
      name: 'gatehouse_recovery_erasures_lost',
      help: 'Whether requests for erasure may have been lost by a restore, and no operator has repeated them: 1 or 0.',
      registers: [registry],
    });
    return async () => {
      const [row] = await runStatement<{ lost: number }>(pool, {
        text: `select exists (select from core.recoveries where erasures_accepted_by = '')::integer as lost`,
      });
      lost.set(row?.lost ?? 0);
    };
  });
}
