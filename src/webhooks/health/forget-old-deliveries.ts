import type { PoolClient } from 'pg';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import { retentionStart } from '../../platform/database/retention-start.ts';
import type { TwoClocks } from '../../platform/database/retention-start.ts';
import type { Logger } from '../../platform/logger.ts';
import { pause } from '../../platform/pause.ts';
import { lowestStoredIdAt, publicId } from '../../contract/public-id.ts';
import type { Database } from '../database/database.ts';

export interface ForgetParts extends TwoClocks {
  readonly database: Database;
  readonly retentionDays: number;
  readonly logger: Logger;
}

/** Held by the one process that deletes. */
const forgetLock = { key: 7_142_104, silenceMs: 60_000 };
/** One batch takes a fraction of a second, including attempts. Core's event list waits for transactions that write. */
const batchSize = 500;
const breathMs = 50;

/**
 * An id contains the creation time, so the index on ids finds a merchant's old deliveries. Each merchant with deliveries has
 * a lane. A delivery that is made pending again meanwhile is kept.
 */
const deleteDeliveries = `
delete from webhooks.deliveries delivery using (
  select old.merchant_id, old.id
  from (select distinct merchant_id from webhooks.lanes) merchant
  cross join lateral (
    select merchant_id, id from webhooks.deliveries
    where merchant_id = merchant.merchant_id and id < $1
      and ((state = 'DELIVERED' and delivered_at < $2) or (state = 'GIVEN_UP' and given_up_at < $2))
    order by id limit $3
  ) old
  limit $3
) old
where delivery.merchant_id = old.merchant_id and delivery.id = old.id and delivery.state <> 'PENDING'`;

/**
 * A paused lane is kept even without deliveries, because a user decided to pause it. The lane of a webhook endpoint is kept
 * until the endpoint is deleted.
 */
const deleteLanes = `
delete from webhooks.lanes lane using (
  select merchant_id, environment, endpoint from webhooks.lanes old
  where next_due_at is null and lease_id is null and paused_at is null
    and greatest(created_at, resumed_at, last_success_at, last_failure_at) < $1
    and not exists (
      select from webhooks.deliveries d
      where d.merchant_id = old.merchant_id and d.environment = old.environment and d.endpoint = old.endpoint
    )
    and not exists (
      select from webhooks.webhook_endpoints e
      where e.merchant_id = old.merchant_id and e.id = old.endpoint and e.emptied_at is null
    )
  limit $2
) old
where lane.merchant_id = old.merchant_id and lane.environment = old.environment and lane.endpoint = old.endpoint
  and lane.next_due_at is null and lane.paused_at is null`;

/** Its deliveries may be younger than the redelivery. They are still shown as redelivered. */
const deleteRedeliveries = `
delete from webhooks.redeliveries r using (
  select merchant_id, id from webhooks.redeliveries where ended_at < $1 limit $2
) old
where r.merchant_id = old.merchant_id and r.id = old.id`;

/**
 * Deletes deliveries and redeliveries that ended before the retention time, in small batches. Also deletes lanes without
 * deliveries in that time. One process at a time does this. In the others the call does nothing.
 */
export async function forgetOldDeliveries(parts: ForgetParts, stop: AbortSignal): Promise<void> {
  const { database, retentionDays, logger } = parts;
  const before = retentionStart(parts, retentionDays);
  const beforeId = publicId('whd', lowestStoredIdAt(before));
  await withAdvisoryLock(database.pool, forgetLock, async (client, lost) => {
    const ended = AbortSignal.any([stop, lost]);
    const deliveries = await deleteInBatches(client, ended, deleteDeliveries, [beforeId, before]);
    const lanes = await deleteInBatches(client, ended, deleteLanes, [before]);
    const redeliveries = await deleteInBatches(client, ended, deleteRedeliveries, [before]);
    if (deliveries + lanes + redeliveries > 0)
      logger.info({ deliveries, lanes, redeliveries }, 'removed old deliveries, lanes and redeliveries');
  });
}

async function deleteInBatches(
  client: PoolClient,
  stop: AbortSignal,
  statement: string,
  values: readonly unknown[],
): Promise<number> {
  let deleted = 0;
  while (!stop.aborted) {
    const { rowCount } = await client.query(statement, [...values, batchSize]);
    deleted += rowCount ?? 0;
    if ((rowCount ?? 0) < batchSize) break;
    await pause(breathMs, stop);
  }
  return deleted;
}
