import { addBrokerMetrics } from '../platform/broker-metrics.ts';
import { addPoolMetrics } from '../platform/database/pool-watch.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { EventBus } from '../platform/nats/nats-event-bus.ts';
import type { Database } from './database/database.ts';
import type { PaymentGate } from './database/payment-gate.ts';
import type { Wallet } from './domain/wallet.ts';
import { addSealMetrics } from './audit/seal-metrics.ts';
import { addMoneyMetrics } from './reconciliation/money-metrics.ts';
import { addRelayMetrics } from './events/relay-metrics.ts';
import { addRecoveryMetrics } from './recovery/recovery-metrics.ts';
import { addWorkMetrics } from './payments/work-metrics.ts';

export interface CoreMetricsParts {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'isConnected'> & { readonly stream: string };
  readonly gate: Pick<PaymentGate, 'isOpen'>;
  readonly wallets: readonly Wallet[];
  readonly now: () => Date;
}

/** Adds the metrics of a core's database, broker and work. */
export function addCoreMetrics(
  metrics: Metrics,
  { database, bus, gate, wallets, now }: CoreMetricsParts,
): void {
  addBrokerMetrics(metrics, bus);
  addPoolMetrics(metrics, database.poolWatch);
  addWorkMetrics(metrics, database);
  addRecoveryMetrics(metrics, { database, gate });
  addMoneyMetrics(metrics, { database, wallets, now });
  addSealMetrics(metrics, database);
  addRelayMetrics(metrics, { database, stream: bus.stream });
}
