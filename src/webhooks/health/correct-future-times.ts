import type { Pool } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Logger } from '../../platform/logger.ts';
import { pause } from '../../platform/pause.ts';
import { isFirstOfItsOrder, nextOf } from '../delivery/head-rows.sql.ts';
import { laneFields } from '../delivery/lane-arrays.ts';
import { lockLanes } from '../delivery/lock-lanes.sql.ts';
import type { LaneKey } from '../domain/delivery.ts';
import { maxCooldownMs } from '../domain/lane-health.ts';
import { maxWaitMs } from '../domain/retry-schedule.ts';

export interface FutureTimeParts {
  readonly pool: Pool;
  /** The lease time of a lane without renewal. */
  readonly leaseMs: number;
  readonly logger: Logger;
}

/** A process may be ahead of the database's clock by less than this. */
const toleranceMs = 60_000;
/** A page of lanes takes some milliseconds. In a larger installation, later runs continue with the next lanes. */
const lanesInPage = 1_000;
const pagesInRun = 10;
/** A batch takes some milliseconds. Core's event list waits for transactions that write. */
const batchSize = 500;
const betweenPagesMs = 50;

const fromNow = (...milliseconds: readonly (string | number)[]): string =>
  `(now() + (${milliseconds.join(' + ')}) * interval '1 millisecond')`;
const lease = '$1::float8';

/** Whether `latest` was written, or is due, later than a right clock allows. An attempt or a new schedule sets both times. */
const isDeliveryAhead = `(
  greatest(latest.round_started_at, latest.last_attempt_at) > ${fromNow(toleranceMs)}
  or latest.due_at > ${fromNow(maxWaitMs, toleranceMs)}
)`;

/** The latest pending deliveries of a lane. Few are due later than now, because a failing lane sends one at a time. */
const latestOf = (merchantId: string, environment: string, endpoint: string): string => `
  select d.merchant_id, d.id, d.due_at, d.round_started_at, d.last_attempt_at from webhooks.deliveries d
  where d.merchant_id = ${merchantId} and d.environment = ${environment} and d.endpoint = ${endpoint}
    and d.state = 'PENDING' and d.due_at > ${fromNow(toleranceMs)}
  order by d.due_at desc, d.id desc
  limit ${batchSize}`;

/** When the first delivery of a lane that can be sent is due. A release makes the lane due then, or a few seconds later. */
const firstDueOf = (lane: string): string => `
  select d.due_at from (${nextOf(lane)}
  ) d
  where ${isFirstOfItsOrder}
  order by d.due_at, d.id
  limit 1`;

const findAhead = `
with page as materialized (
  select merchant_id, environment, endpoint, next_due_at, resting_until, leased_until from webhooks.lanes
  where (merchant_id, environment, endpoint) > ($2, $3::webhooks.environment, $4)
  order by merchant_id, environment, endpoint
  limit $5
)
select merchant_id as "merchantId", environment, endpoint,
  (
    next_due_at > ${fromNow(toleranceMs)}
    and next_due_at > greatest(now(), resting_until, (${firstDueOf('page')})) + ${toleranceMs} * interval '1 millisecond'
  )
  or resting_until > ${fromNow(maxCooldownMs, toleranceMs)}
  or leased_until > ${fromNow(lease, toleranceMs)}
  or exists (
    select from (${latestOf('page.merchant_id', 'page.environment', 'page.endpoint')}) latest where ${isDeliveryAhead}
  ) as "isAhead"
from page
order by merchant_id, environment, endpoint`;

const correctDeliveries = `
update webhooks.deliveries d
set due_at = date_trunc('milliseconds', greatest(now(), least(
      ${fromNow(maxWaitMs)},
      d.due_at - greatest(greatest(d.round_started_at, d.last_attempt_at) - now(), interval '0')
    ))),
    round_started_at = date_trunc('milliseconds', least(d.round_started_at, now())),
    last_attempt_at = case when d.last_attempt_at > now() then date_trunc('milliseconds', now()) else d.last_attempt_at end
from (${latestOf('$1', '$2::webhooks.environment', '$3')}) latest
where d.merchant_id = latest.merchant_id and d.id = latest.id
  and ${isDeliveryAhead}
returning d.id`;

const correctedCooldown = `case when resting_until > ${fromNow(maxCooldownMs)}
      then date_trunc('milliseconds', ${fromNow(maxCooldownMs)}) else resting_until end`;

/** A lane that is due too early costs one lease, whose release finds the right time. */
const correctLane = `
update webhooks.lanes
set resting_until = ${correctedCooldown},
    leased_until = case when leased_until > ${fromNow(lease)} then ${fromNow(lease)} else leased_until end,
    next_due_at = case when next_due_at > now()
      then greatest(date_trunc('milliseconds', now()), ${correctedCooldown}) else next_due_at end
where merchant_id = $2 and environment = $3::webhooks.environment and endpoint = $4`;

interface SubscriptionKey {
  readonly merchantId: string;
  readonly endpointId: string;
  readonly eventType: string;
}

/** Skips rows that a change of their endpoint has locked. The next run reads them again. */
const correctSubscriptions = `
with ahead as (
  select merchant_id, endpoint_id, event_type from webhooks.webhook_endpoint_types
  where since > ${fromNow(toleranceMs)}
  limit ${batchSize}
  for no key update skip locked
)
update webhooks.webhook_endpoint_types t
set since = date_trunc('milliseconds', now())
from ahead
where t.merchant_id = ahead.merchant_id and t.endpoint_id = ahead.endpoint_id and t.event_type = ahead.event_type
returning t.merchant_id as "merchantId", t.endpoint_id as "endpointId", t.event_type as "eventType"`;

/**
 * Returns the task that corrects times that were stored while the database's clock was ahead. Pending deliveries, open circuits and leases
 * would hold webhooks back until the wrong time, and subscriptions would begin only then. A wait that began then begins again now. It reads
 * at most 10,000 lanes in a run, and writes only rows with a time that no right clock stores. Several processes may do this at once.
 */
export function createFutureTimeCorrection({ pool, leaseMs, logger }: FutureTimeParts) {
  const start: LaneKey = { merchantId: '', environment: 'SANDBOX', endpoint: '' };
  let position = start;
  const keyOf = ({ merchantId, environment, endpoint }: LaneKey) => [merchantId, environment, endpoint];

  const correct = async (lane: LaneKey, stop: AbortSignal): Promise<number> => {
    let corrected = 0;
    while (!stop.aborted) {
      const count = await inTransaction(pool, [], async (client) => {
        // Lanes before deliveries, as the transaction that stores an attempt.
        await lockLanes(client, [lane]);
        const rows = await runStatement(client, { text: correctDeliveries, values: keyOf(lane) });
        await runStatement(client, { text: correctLane, values: [leaseMs, ...keyOf(lane)] });
        return rows.length;
      });
      corrected += count;
      if (count < batchSize) break;
      await pause(betweenPagesMs, stop);
    }
    return corrected;
  };

  const correctTypes = async (stop: AbortSignal): Promise<void> => {
    while (!stop.aborted) {
      const rows = await runStatement<SubscriptionKey>(pool, { text: correctSubscriptions });
      for (const [endpointId, types] of Map.groupBy(rows, (row) => row.endpointId))
        logger.warn(
          {
            merchant_id: types[0]?.merchantId,
            webhook_endpoint_id: endpointId,
            event_types: types.map(({ eventType }) => eventType),
          },
          "the database's clock was ahead when the types of a webhook endpoint were set, so the endpoint would have missed events until that wrong time. The time is corrected",
        );
      if (rows.length < batchSize) return;
      await pause(betweenPagesMs, stop);
    }
  };

  return async (stop: AbortSignal): Promise<void> => {
    await correctTypes(stop);
    for (let page = 0; page < pagesInRun && !stop.aborted; page += 1) {
      const lanes = await runStatement<LaneKey & { isAhead: boolean | null }>(pool, {
        text: findAhead,
        values: [leaseMs, ...keyOf(position), lanesInPage],
      });
      for (const { isAhead, ...lane } of lanes) {
        if (isAhead !== true) continue;
        const count = await correct(lane, stop);
        logger.warn(
          { ...laneFields(lane), count },
          "the database's clock was ahead, so webhooks would have been sent too late. Their times are corrected",
        );
      }
      position = lanes.length < lanesInPage ? start : (lanes.at(-1) ?? start);
      if (position === start) return;
    }
  };
}
