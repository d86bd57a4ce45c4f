import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Logger } from '../../platform/logger.ts';
import { lockLanes } from '../delivery/lock-lanes.sql.ts';
import type { LaneKey } from '../domain/delivery.ts';

/** One batch takes some milliseconds. Core's event list waits for transactions that write. */
const batchSize = 500;

/** Stored in place of the latest attempt's result. */
const abandonedResult = 'abandoned: its webhook endpoint was deleted';

/** The next endpoint that has deliveries to abandon, or whose lane no process holds. */
const takeDeleted = `
select e.merchant_id as "merchantId", e.environment, e.id as endpoint from webhooks.webhook_endpoints e
where e.deleted_at is not null and e.emptied_at is null
  and (
    not exists (
      select from webhooks.lanes l
      where l.merchant_id = e.merchant_id and l.environment = e.environment and l.endpoint = e.id and l.leased_until > now()
    )
    or exists (
      select from webhooks.deliveries d
      where d.merchant_id = e.merchant_id and d.environment = e.environment and d.endpoint = e.id and d.state = 'PENDING'
    )
  )
order by e.deleted_at
limit 1
for update of e skip locked`;

const abandonBatch = `
update webhooks.deliveries d
set state = 'GIVEN_UP', due_at = null, given_up_at = now(), last_result = $5
from (
  select merchant_id, id from webhooks.deliveries
  where merchant_id = $1 and environment = $2::webhooks.environment and endpoint = $3 and state = 'PENDING'
  order by due_at, id
  limit $4
) old
where d.merchant_id = old.merchant_id and d.id = old.id
returning d.id`;

/**
 * Ends the lane unless a process holds it. The result of an attempt under way could pause an ended lane again, which nothing
 * would resume. An expired lease is removed, so a process that was frozen stores nothing when it continues.
 */
const endLane = `
update webhooks.lanes
set paused_at = null, pause_reason = '', paused_by_answer = false, next_due_at = null, awaits_secret_since = null,
  resting_until = null, consecutive_failures = 0, lease_id = null, leased_until = null
where merchant_id = $1 and environment = $2::webhooks.environment and endpoint = $3
  and (leased_until is null or leased_until <= now())
returning endpoint`;

/**
 * Abandons the pending deliveries of deleted webhook endpoints in small batches, until there is none. The lane of an attempt
 * under way ends with a later call. Several processes may do this at once. A process that exits within a batch leaves the batch
 * to the next call.
 */
export async function abandonDeleted(
  { pool, logger }: { readonly pool: Pool; readonly logger: Logger },
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const batch = await inTransaction(pool, [], abandonNext);
    if (batch === undefined) return;
    const { lane, count } = batch;
    if (count > 0)
      logger.info(
        { merchant_id: lane.merchantId, webhook_endpoint_id: lane.endpoint, count },
        'webhooks abandoned: their webhook endpoint was deleted',
      );
  }
}

/** Undefined when no deleted endpoint has deliveries that this process can abandon. */
async function abandonNext(client: PoolClient): Promise<{ lane: LaneKey; count: number } | undefined> {
  const [lane] = await runStatement<LaneKey & Record<string, unknown>>(client, { text: takeDeleted });
  if (lane === undefined) return undefined;
  const key = [lane.merchantId, lane.environment, lane.endpoint];
  // Lanes before deliveries, as the transaction that stores an attempt.
  const locked = await lockLanes(client, [lane]);
  const abandoned = await runStatement(client, {
    text: abandonBatch,
    values: [...key, batchSize, abandonedResult],
  });
  if (abandoned.length === batchSize) return { lane, count: batchSize };
  const ended = await runStatement(client, { text: endLane, values: key });
  // An endpoint that never had a delivery has no lane.
  if (ended.length > 0 || locked.size === 0) {
    await runStatement(client, {
      text: 'update webhooks.webhook_endpoints set emptied_at = now() where merchant_id = $1 and id = $2',
      values: [lane.merchantId, lane.endpoint],
    });
  }
  return { lane, count: abandoned.length };
}
