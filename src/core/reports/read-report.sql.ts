import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment, OrderEventType } from '../domain/order.ts';
import type { StoredId } from '../../contract/public-id.ts';

/** The merchant, the environment and the period of a report, and its steps. */
export interface ReportSpan {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  /** The start of each step, in order. The starts and the end are full quarters of an hour. */
  readonly starts: readonly Date[];
  readonly to: Date;
}

/** Events of one kind in one step of a report. */
export interface ReportRow {
  /** 0 for the first step. */
  readonly step: number;
  readonly type: OrderEventType;
  readonly currency: string;
  readonly payment_option: string;
  readonly reason: string;
  readonly events: string;
  readonly minor_units: string;
}

/** The counts of a period, from the rows of its quarters of an hour. */
export const readReport = (pool: Pool, span: ReportSpan): Promise<ReportRow[]> =>
  runStatement<ReportRow>(pool, {
    text: `
select width_bucket(quarter, $3::timestamptz[]) - 1 as step, type, currency, payment_option, reason,
  sum(events)::text as events, sum(minor_units)::text as minor_units
from core.order_counts
where merchant_id = $1 and environment = $2 and quarter >= ($3::timestamptz[])[1] and quarter < $4
  and type in ('CREATED', 'PAYMENT_DECLINED', 'COMPLETED', 'FAILED', 'EXPIRED', 'REFUND_COMPLETED')
group by 1, 2, 3, 4, 5`,
    values: [span.merchantId, span.environment, span.starts, span.to],
  });

/** The time of the oldest event that is not counted yet; null when all are counted. */
export async function readBehindSince(pool: Pool): Promise<Date | null> {
  const [row] = await runStatement<{ occurred_at: Date }>(pool, {
    text: `
select e.occurred_at
from core.order_counts_cursor c
cross join lateral (
  select occurred_at from core.order_events where (xid, position) > (c.xid, c.position) order by xid, position limit 1
) e`,
  });
  return row?.occurred_at ?? null;
}

export interface FirstSteps {
  readonly first_key: Date | null;
  readonly first_order: Date | null;
  readonly first_completed: Date | null;
}

/** The merchant's progress in the setup. Each value reads only the first entry of an index. */
export async function readFirstSteps(
  pool: Pool,
  merchantId: StoredId<'mer'>,
  environment: Environment,
): Promise<FirstSteps> {
  const [row] = await runStatement<{
    first_key: Date | null;
    first_order: Date | null;
    first_completed: Date | null;
  }>(pool, {
    text: `
select
  (select created_at from core.api_keys where merchant_id = $1 and environment = $2 order by id limit 1) as first_key,
  (select created_at from core.orders where merchant_id = $1 and environment = $2 order by id limit 1) as first_order,
  (select date_trunc('hour', min(quarter), 'UTC') from core.order_counts where merchant_id = $1 and environment = $2 and type = 'COMPLETED')
    as first_completed`,
    values: [merchantId, environment],
  });
  return row ?? { first_key: null, first_order: null, first_completed: null };
}
