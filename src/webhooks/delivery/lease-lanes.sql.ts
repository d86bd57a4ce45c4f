import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import type { LaneHealth } from '../domain/lane-health.ts';
import { headOf, headsOf } from './head-rows.sql.ts';
import type { HeadRow } from './head-rows.sql.ts';
import { laneOf, laneText } from './lane-arrays.ts';

export interface LeaseRequest {
  /** The limit for lanes whose last attempt succeeded. */
  readonly lanes: number;
  /** The limit for lanes whose last attempt failed, and for new lanes. */
  readonly unhealthyLanes: number;
  /** The owners whose lanes are left out, as `laneOwner` names them. */
  readonly exceptOwners: readonly string[];
  readonly leaseId: string;
  readonly leaseMs: number;
}

/** A lane that this process has leased, with its first deliveries. */
export interface LeasedLane {
  readonly lane: LaneKey;
  readonly leaseId: string;
  readonly health: LaneHealth;
  /** Whether the endpoint has ever answered 2xx. */
  readonly isProven: boolean;
  readonly heads: readonly OutgoingDelivery[];
  /** Whether the read returned as many deliveries as its limit, so that more may be due. */
  readonly isFilled: boolean;
}

export interface LeasedLanes {
  readonly lanes: readonly LeasedLane[];
  /** The database's clock; undefined when nothing was leased. */
  readonly now: Date | undefined;
}

/** The number of deliveries read with a leased lane. An unhealthy lane gets one delivery as a probe. */
export const headsWithLease = 8;

const dueLanes = (health: string, limit: string): string => `
  select l.ctid from webhooks.lanes l
  where l.next_due_at <= now() and l.paused_at is null
    and (l.leased_until is null or l.leased_until <= now())
    and (l.resting_until is null or l.resting_until <= now())
    and ${health}
    and l.merchant_id || ' ' || l.environment <> all($3::text[])
  order by l.next_due_at
  limit ${limit}
  for no key update skip locked`;

/**
 * Leases lanes and reads their first deliveries in one round trip. The intake leases idle lanes itself (docs/adr/0057). The statement
 * uses an index over lanes, so a lane's due deliveries cost nothing until its turn.
 * The update matches rows by ctid. A lane that another transaction changed after the statement's snapshot is skipped,
 * because its deliveries were read from that snapshot. The next statement leases it.
 */
const statement = `
with healthy as (${dueLanes('l.consecutive_failures = 0 and l.last_success_at is not null', '$1::int')}
), unhealthy as (${dueLanes('(l.consecutive_failures > 0 or l.last_success_at is null)', '$2::int')}
), due as materialized (
  select ctid from healthy union all select ctid from unhealthy
), leased as (
  update webhooks.lanes l
  set lease_id = $4::uuid, leased_until = now() + $5::float8 * interval '1 millisecond'
  from due where l.ctid = due.ctid
  returning l.merchant_id, l.environment, l.endpoint, l.consecutive_failures, l.resting_until, l.resumed_at,
    l.last_success_at is not null as is_proven
)
select
  leased.merchant_id, leased.environment, leased.endpoint, leased.consecutive_failures, leased.resting_until, leased.is_proven,
  now() as now, head.*
from leased
left join lateral (${headsOf('leased', `case when leased.consecutive_failures = 0 then ${headsWithLease} else 1 end`, "'{}'::text[]")}
) head on true`;

interface LeasedRow extends HeadRow {
  readonly consecutive_failures: number;
  readonly is_proven: boolean;
  readonly resting_until: Date | null;
  readonly now: Date;
}

export async function leaseLanes(client: Pool | PoolClient, request: LeaseRequest): Promise<LeasedLanes> {
  const { lanes, unhealthyLanes, exceptOwners, leaseId, leaseMs } = request;
  const rows = await runStatement<LeasedRow & Record<string, unknown>>(client, {
    name: 'lease-lanes',
    text: statement,
    values: [lanes, unhealthyLanes, exceptOwners, leaseId, leaseMs],
  });
  const byLane = Map.groupBy(rows, (row) => laneText(laneOf(row)));
  return {
    lanes: [...byLane.values()].map((rowsOfLane) => leasedLane(rowsOfLane, leaseId)),
    now: rows[0]?.now,
  };
}

function leasedLane(rows: readonly LeasedRow[], leaseId: string): LeasedLane {
  const [first] = rows;
  if (first === undefined) throw new Error('a lane without rows');
  const heads = rows.map(headOf).filter((head) => head !== undefined);
  return {
    lane: laneOf(first),
    leaseId,
    isProven: first.is_proven,
    health: {
      consecutiveFailures: first.consecutive_failures,
      probeAt: first.resting_until ?? undefined,
    },
    heads,
    isFilled: heads.length === (first.consecutive_failures === 0 ? headsWithLease : 1),
  };
}
