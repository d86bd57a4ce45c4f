import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import { roundMs } from '../domain/retry-schedule.ts';
import type { HeldLease } from './renew-leases.sql.ts';

/**
 * The statement examines only the oldest due deliveries, however many there are. A delivery that was sent meanwhile
 * is due later, and is abandoned by its own next attempt. A delivery is abandoned only if the lane failed while it
 * waited. So downtime of Gatehouse abandons no webhook. Nor does a database's clock that is ahead, because the machine's clock must
 * have ended the schedule too.
 */
const statement = `
with lane as (
  select merchant_id, environment, endpoint, resumed_at, last_failure_at from webhooks.lanes
  where merchant_id = $1 and environment = $2::webhooks.environment and endpoint = $3 and lease_id = $4
    and paused_at is null
  for no key update
), oldest as (
  select d.merchant_id, d.id, greatest(d.round_started_at, lane.resumed_at) as round_started_at, lane.last_failure_at
  from lane
  cross join lateral (
    select * from webhooks.deliveries d
    where d.merchant_id = lane.merchant_id and d.environment = lane.environment and d.endpoint = lane.endpoint
      and d.state = 'PENDING' and d.due_at <= now()
    order by d.due_at, d.id
    limit $5
  ) d
)
update webhooks.deliveries d
set state = 'GIVEN_UP', due_at = null, given_up_at = now(), last_result = $7
from oldest
where d.merchant_id = oldest.merchant_id and d.id = oldest.id and d.state = 'PENDING'
  and oldest.round_started_at <= least(now(), $8) - $6::float8 * interval '1 millisecond'
  and oldest.last_failure_at >= oldest.round_started_at
returning d.id`;

/** Stored in place of the latest attempt's outcome. */
const words = `abandoned before it was sent: its host or webhook endpoint failed until its schedule of ${roundMs / 3_600_000} hours ended`;

/**
 * Abandons at most `limit` deliveries of a held lane whose schedule ended before they were sent. `machineNow` is the time of this machine's
 * clock. Returns their number.
 */
export async function abandonExpired(
  client: Pool | PoolClient,
  { lane, leaseId }: HeldLease,
  limit: number,
  machineNow: Date,
): Promise<number> {
  const rows = await runStatement(client, {
    name: 'abandon-expired',
    text: statement,
    values: [lane.merchantId, lane.environment, lane.endpoint, leaseId, limit, roundMs, words, machineNow],
  });
  return rows.length;
}
