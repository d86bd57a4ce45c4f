import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Logger } from '../../platform/logger.ts';
import { lockLanes } from '../delivery/lock-lanes.sql.ts';
import type { LaneKey } from '../domain/delivery.ts';

/** One batch takes some milliseconds. Core's event list waits for transactions that write. */
const batchSize = 500;

/** Stored in place of the latest attempt's result. */
const words = 'abandoned: its webhook endpoint was deleted';

const takeDeleted = `
select merchant_id as "merchantId", environment, id as endpoint from webhooks.webhook_endpoints
where deleted_at is not null and emptied_at is null
order by deleted_at
limit 1
for update skip locked`;

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

const endLane = `
update webhooks.lanes
set paused_at = null, pause_reason = '', next_due_at = null, awaits_secret_since = null, resting_until = null,
  consecutive_failures = 0
where merchant_id = $1 and environment = $2::webhooks.environment and endpoint = $3`;

/**
 * Abandons the pending deliveries of deleted webhook endpoints in small batches, until there is none. Several processes may
 * do this at once. Safe to repeat: a process that exits within a batch leaves the batch to the next call.
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
  await lockLanes(client, [lane]);
  const abandoned = await runStatement(client, { text: abandonBatch, values: [...key, batchSize, words] });
  if (abandoned.length < batchSize) {
    await runStatement(client, { text: endLane, values: key });
    await runStatement(client, {
      text: 'update webhooks.webhook_endpoints set emptied_at = now() where merchant_id = $1 and id = $2',
      values: [lane.merchantId, lane.endpoint],
    });
  }
  return { lane, count: abandoned.length };
}
