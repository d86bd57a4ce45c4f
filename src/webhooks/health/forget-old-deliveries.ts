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
const betweenPagesMs = 50;

/** An id contains the creation time, so the index on ids finds a merchant's old deliveries. Each merchant with deliveries has a lane. */
const merchantsWithOld = `
select merchant_id from (select distinct merchant_id from webhooks.lanes) merchant
where exists (select from webhooks.deliveries d where d.merchant_id = merchant.merchant_id and d.id < $1)`;

/**
 * The next page of a merchant's old deliveries. Pending deliveries are kept, and there may be many. A delivery that is made pending again
 * meanwhile is kept too.
 */
const deleteDeliveries = `
with page as materialized (
  select id, (state = 'DELIVERED' and delivered_at < $2) or (state = 'GIVEN_UP' and given_up_at < $2) as is_old
  from webhooks.deliveries where merchant_id = $3 and id > $4 and id < $1
  order by id limit ${batchSize}
), deleted as (
  delete from webhooks.deliveries d using page
  where page.is_old and d.merchant_id = $3 and d.id = page.id and d.state <> 'PENDING'
  returning d.id
)
select (select count(*)::int from deleted) as deleted,
  case when count(*) = ${batchSize} then max(id) end as last_id from page`;

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

/** A deleted webhook endpoint is kept as long as its lane, and that as long as its deliveries. */
const deleteEndpoints = `
with old as materialized (
  select merchant_id, id from webhooks.webhook_endpoints e
  where emptied_at < $1
    and not exists (
      select from webhooks.lanes l
      where l.merchant_id = e.merchant_id and l.environment = e.environment and l.endpoint = e.id
    )
  limit $2
), types as (
  delete from webhooks.webhook_endpoint_types t using old where t.merchant_id = old.merchant_id and t.endpoint_id = old.id
)
delete from webhooks.webhook_endpoints e using old where e.merchant_id = old.merchant_id and e.id = old.id`;

/** Its deliveries may be younger than the redelivery. They are still shown as redelivered. */
const deleteRedeliveries = `
delete from webhooks.redeliveries r using (
  select merchant_id, id from webhooks.redeliveries where ended_at < $1 limit $2
) old
where r.merchant_id = old.merchant_id and r.id = old.id`;

/**
 * Deletes deliveries and redeliveries that ended before the retention time, in small batches. Also deletes lanes without
 * deliveries in that time, and then webhook endpoints that were deleted before it. One process at a time does this. In the others the call does nothing.
 */
export async function forgetOldDeliveries(parts: ForgetParts, stop: AbortSignal): Promise<void> {
  const { database, retentionDays, logger } = parts;
  const before = retentionStart(parts, retentionDays);
  const beforeId = publicId('whd', lowestStoredIdAt(before));
  await withAdvisoryLock(database.pool, forgetLock, async (client, lost) => {
    const ended = AbortSignal.any([stop, lost]);
    const deliveries = await deleteOldDeliveries(client, ended, [beforeId, before]);
    const lanes = await deleteInBatches(client, ended, deleteLanes, [before]);
    const redeliveries = await deleteInBatches(client, ended, deleteRedeliveries, [before]);
    const endpoints = await deleteInBatches(client, ended, deleteEndpoints, [before]);
    if (deliveries + lanes + redeliveries + endpoints > 0)
      logger.info(
        { deliveries, lanes, redeliveries, endpoints },
        'removed old deliveries, lanes, redeliveries and deleted webhook endpoints',
      );
  });
}

async function deleteOldDeliveries(
  client: PoolClient,
  stop: AbortSignal,
  before: readonly [string, Date],
): Promise<number> {
  const merchants = await client.query<{ merchant_id: string }>(merchantsWithOld, [before[0]]);
  let deleted = 0;
  for (const { merchant_id: merchantId } of merchants.rows) {
    let after: string | undefined = '';
    while (after !== undefined && !stop.aborted) {
      const page = await deletePage(client, [...before, merchantId, after]);
      deleted += page.deleted;
      after = page.lastId;
      if (page.deleted > 0) await pause(betweenPagesMs, stop);
    }
  }
  return deleted;
}

/** The last id is undefined after the last page. */
async function deletePage(
  client: PoolClient,
  values: readonly unknown[],
): Promise<{ readonly deleted: number; readonly lastId: string | undefined }> {
  const { rows } = await client.query<{ deleted: number; last_id: string | null }>(deleteDeliveries, [
    ...values,
  ]);
  return { deleted: rows[0]?.deleted ?? 0, lastId: rows[0]?.last_id ?? undefined };
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
    await pause(betweenPagesMs, stop);
  }
  return deleted;
}
