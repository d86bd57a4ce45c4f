import { Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Database } from '../database/database.ts';
import { openQuestions } from '../database/open-questions.sql.ts';
import type { OpenQuestions } from '../database/open-questions.sql.ts';
import { onPrimary } from '../database/payment-gate.ts';
import type { PaymentGate } from '../database/payment-gate.ts';

export interface RecoveryMetricsParts {
  readonly database: Pick<Database, 'pool'>;
  readonly gate: Pick<PaymentGate, 'isOpen'>;
}

const environments = ['SANDBOX', 'PRODUCTION'] as const;

type HeldMerchants = Readonly<Record<(typeof environments)[number], number>>;

const heldIn = (environment: string): string =>
  `case when ${onPrimary(`core.takes_payments('${environment}')`)} then cardinality(core.held_merchants('${environment}')) else 0 end`;

/**
 * Adds metrics about a restored database. Some say whether each environment takes payments, and how many merchants wait longer. An
 * environment takes payments only after the records were compared with the wallets. Other metrics say whether an operator must still answer a
 * question: whether requests for erasure, merchants or their wallet accounts were lost.
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
  metrics.addReading('questions after a restore', (registry) => {
    const lost = new Gauge({
      name: 'gatehouse_recovery_erasures_lost',
      help: 'Whether requests for erasure may have been lost by a restore, and no operator has repeated them: 1 or 0.',
      registers: [registry],
    });
    const unknown = new Gauge({
      name: 'gatehouse_recovery_unanswered',
      help: 'Whether a restore may have lost merchants or wallet accounts of merchants, and no operator has answered: 1 or 0.',
      labelNames: ['question'],
      registers: [registry],
    });
    const held = new Gauge({
      name: 'gatehouse_recovery_held_merchants',
      help: 'Merchants that take no payments after a restore until their own wallet accounts were compared, in an environment that takes payments.',
      labelNames: ['environment'],
      registers: [registry],
    });
    return async () => {
      const [row] = await runStatement<OpenQuestions & HeldMerchants>(pool, {
        text: `${openQuestions}, ${environments.map((each) => `${heldIn(each)} as "${each}"`).join(', ')}`,
      });
      for (const environment of environments)
        held.set({ environment: environment.toLowerCase() }, row?.[environment] ?? 0);
      lost.set(row?.erasuresLostFrom == null ? 0 : 1);
      unknown.set({ question: 'accounts' }, row?.accountsLostFrom == null ? 0 : 1);
      unknown.set({ question: 'merchants' }, row?.merchantsLostFrom == null ? 0 : 1);
    };
  });
}
