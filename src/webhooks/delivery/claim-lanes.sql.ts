import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import type { LaneHealth } from '../domain/lane-health.ts';
import { headOf, headsOf } from './head-rows.sql.ts';
import type { HeadRow } from './head-rows.sql.ts';
import { laneOf, laneText } from './lane-arrays.ts';

export interface ClaimRequest {
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
export interface ClaimedLane {
  readonly lane: LaneKey;
  readonly leaseId: string;
  readonly health: LaneHealth;
  /** Whether the endpoint has ever answered 2xx. */
  readonly isProven: boolean;
  readonly heads: readonly OutgoingDelivery[];
  /** Whether the read returned as many deliveries as its limit, so that more may be due. */
  readonly isFilled: boolean;
}

export interface Claimed {
  readonly lanes: readonly ClaimedLane[];
  /** The database's clock; undefined when nothing was claimed. */
  readonly now: Date | undefined;
}

/** The number of deliveries read with a claimed lane. An unhealthy lane gets one delivery as a probe. */
export const headsWithClaim = 8;

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
 * Claims lanes and their first deliveries in one round trip. New deliveries of an idle lane need no claim (docs/adr/0057). The claim
 * uses an index over lanes, so a lane's due deliveries cost nothing until its turn.
 * The update matches rows by ctid. A lane that another transaction changed after the statement's snapshot is skipped,
 * because its deliveries were read from that snapshot. The next claim gets it.
 */
const statement = `
with healthy as (${dueLanes('l.consecutive_failures = 0 and l.last_success_at is not null', '$1::int')}
), unhealthy as (${dueLanes('(l.consecutive_failures > 0 or l.last_success_at is null)', '$2::int')}
), due as materialized (
  select ctid from healthy union all select ctid from unhealthy
), claimed as (
  update webhooks.lanes l
  set lease_id = $4::uuid, leased_until = now() + $5::float8 * interval '1 millisecond'
  from due where l.ctid = due.ctid
  returning l.merchant_id, l.environment, l.endpoint, l.consecutive_failures, l.resting_until, l.resumed_at,
    l.last_success_at is not null as is_proven
)
select
  claimed.merchant_id, claimed.environment, claimed.endpoint, claimed.consecutive_failures, claimed.resting_until, claimed.is_proven,
  now() as now, head.*
from claimed
left join lateral (${headsOf('claimed', `case when claimed.consecutive_failures = 0 then ${headsWithClaim} else 1 end`, "'{}'::text[]")}
) head on true`;

interface ClaimedRow extends HeadRow {
  readonly consecutive_failures: number;
  readonly is_proven: boolean;
  readonly resting_until: Date | null;
  readonly now: Date;
}

export async function claimLanes(client: Pool | PoolClient, request: ClaimRequest): Promise<Claimed> {
  const { lanes, unhealthyLanes, exceptOwners, leaseId, leaseMs } = request;
  const rows = await runStatement<ClaimedRow & Record<string, unknown>>(client, {
    name: 'claim-lanes',
    text: statement,
    values: [lanes, unhealthyLanes, exceptOwners, leaseId, leaseMs],
  });
  const byLane = Map.groupBy(rows, (row) => laneText(laneOf(row)));
  return {
    lanes: [...byLane.values()].map((rowsOfLane) => claimedLane(rowsOfLane, leaseId)),
    now: rows[0]?.now,
  };
}

function claimedLane(rows: readonly ClaimedRow[], leaseId: string): ClaimedLane {
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
    isFilled: heads.length === (first.consecutive_failures === 0 ? headsWithClaim : 1),
  };
}
