import { Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import type { PaymentGate } from '../database/payment-gate.ts';

const environments = ['SANDBOX', 'PRODUCTION'] as const;

/** Adds whether each environment takes payments. It does not while a restored database is compared with the wallets. */
export function addRecoveryMetrics(metrics: Metrics, gate: Pick<PaymentGate, 'isOpen'>): void {
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
}
