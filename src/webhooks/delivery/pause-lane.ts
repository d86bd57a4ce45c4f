import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { LaneKey } from '../domain/delivery.ts';

const pauseStatement = `
update webhooks.lanes
set paused_at = coalesce(paused_at, now()), pause_reason = $4, paused_by_answer = false
where merchant_id = $1 and environment = $2::webhooks.environment and endpoint = $3
returning merchant_id`;

/** Schedules count from resumed_at, so the pause does not use up their time. */
const resumeStatement = `
update webhooks.lanes
set resumed_at = case when paused_at is null then resumed_at else now() end,
    paused_at = null, pause_reason = '', paused_by_answer = false,
    consecutive_failures = 0, failing_since = null, resting_until = null,
    next_due_at = date_trunc('milliseconds', now())
where merchant_id = $1 and environment = $2::webhooks.environment and endpoint = $3
returning merchant_id`;

const laneValues = ({ merchantId, environment, endpoint }: LaneKey): string[] => [
  merchantId,
  environment,
  endpoint,
];

/**
 * Pauses a lane, which begins no attempt until it is resumed. A process that serves the lane learns of the pause within
 * seconds. The results of its attempts under way are recorded. Deliveries do not change. Returns whether the lane
 * exists.
 */
export async function pauseLane(client: Pool | PoolClient, lane: LaneKey, reason: string): Promise<boolean> {
  const rows = await runStatement(client, { text: pauseStatement, values: [...laneValues(lane), reason] });
  return rows.length > 0;
}

/**
 * Ends a pause of a lane, or closes its circuit. Due deliveries are sent as soon as a dispatcher is woken or polls.
 * Returns whether the lane exists.
 */
export async function resumeLane(client: Pool | PoolClient, lane: LaneKey): Promise<boolean> {
  const rows = await runStatement(client, { text: resumeStatement, values: laneValues(lane) });
  return rows.length > 0;
}
