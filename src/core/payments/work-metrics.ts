import { Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Database } from '../database/database.ts';
import { onPrimary } from '../database/payment-gate.ts';
import { readUnsettled } from './settlements/unsettled.sql.ts';

/** The kinds of work that wait for a time, as `kind` has them in the metrics. */
type Kind = 'payment' | 'reversal' | 'refund' | 'payer_payment' | 'expiry';

/** Work that is counted up to this number, so that a large backlog costs no long reading. */
const maxCounted = 10_000;

/** Work of an environment that takes no payments is not due until its recovery opens it. */
const dueIn = (kind: Kind, table: string, column: string, unless = ''): string => `
select '${kind}' as kind, count(*)::int as due, extract(epoch from now() - min(due_at))::float8 as oldest_seconds
from (
  select ${column} as due_at from core.${table} work
  where ${column} <= now() and environment = any (array(select environment from takes_payments)) ${unless}
  order by ${column} limit ${maxCounted}
) due`;

/** The lease of payments leaves out the merchants that a recovery holds. */
const isHeld =
  'exists (select from held where held.environment = work.environment and held.merchant_id = work.merchant_id)';

const text = `
with takes_payments as materialized (
  select environment from unnest(enum_range(null::core.environment)) e (environment)
  where ${onPrimary('core.takes_payments(environment)')}
), held as materialized (
  select environment, unnest(core.held_merchants(environment)) as merchant_id from takes_payments
)
${[
  dueIn('payment', 'payment_attempts', 'due_at', `and not ${isHeld}`),
  dueIn('reversal', 'stray_payments', 'due_at'),
  dueIn('refund', 'refunds', 'due_at'),
  dueIn('payer_payment', 'payer_payments', 'due_at'),
  dueIn('expiry', 'orders', 'sweep_at'),
].join('\nunion all')}`;

interface DueRow {
  readonly kind: Kind;
  readonly due: number;
  readonly oldest_seconds: number | null;
}

/** Adds metrics of the work that is due and that no process has leased, and of money that waits for a person. All cores show the same values. */
export function addWorkMetrics(metrics: Metrics, { pool }: Pick<Database, 'pool'>): void {
  metrics.addReading('due work', (registry) => {
    const registers = [registry];
    const due = new Gauge({
      name: 'gatehouse_work_due',
      help: `Work that is due and not leased, by kind, counted up to ${maxCounted}. Without work that waits for a recovery.`,
      labelNames: ['kind'],
      registers,
    });
    const oldest = new Gauge({
      name: 'gatehouse_work_oldest_due_seconds',
      help: 'How long the oldest due work of the kind has been due, in seconds. 0 when no work is due.',
      labelNames: ['kind'],
      registers,
    });
    return async () => {
      for (const row of await runStatement<DueRow & Record<string, unknown>>(pool, { text })) {
        due.set({ kind: row.kind }, row.due);
        oldest.set({ kind: row.kind }, Math.max(0, row.oldest_seconds ?? 0));
      }
    };
  });
  metrics.addReading('unsettled money', (registry) => {
    const unsettled = new Gauge({
      name: 'gatehouse_money_unsettled',
      help: 'Payments, refunds and stray payments that wait for a person, by kind.',
      labelNames: ['kind'],
      registers: [registry],
    });
    return async () => {
      const { counts } = await readUnsettled(pool, { merchantId: undefined, limit: 1 });
      for (const [kind, count] of Object.entries(counts))
        unsettled.set({ kind: kind === 'attempt' ? 'payment' : kind }, Number(count));
    };
  });
}
