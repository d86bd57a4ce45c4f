import type { PoolClient, QueryResultRow } from 'pg';
import { bulkStatement } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Statement } from '../../platform/database/run-statement.ts';
import type { LaneKey } from '../domain/delivery.ts';
import type { LaneHealth } from '../domain/lane-health.ts';
import { laneList, laneOf, laneText } from './lane-arrays.ts';
import type { LaneRow } from './lane-arrays.ts';

export interface LockedLane {
  readonly lane: LaneKey;
  /** Empty when the lane has no holder. */
  readonly leaseId: string;
  readonly health: LaneHealth;
  readonly isPaused: boolean;
}

/**
 * All writers lock lanes in this order, which prevents deadlocks. The lock does not block inserts of deliveries that
 * refer to a lane.
 */
const statement = bulkStatement(
  'lock-lanes',
  { wanted: laneList },
  (sql) => `
select
  l.merchant_id, l.environment, l.endpoint, l.lease_id, l.consecutive_failures, l.resting_until,
  l.paused_at is not null as is_paused
from ${sql.wanted}
join webhooks.lanes l using (merchant_id, environment, endpoint)
order by l.merchant_id, l.environment, l.endpoint
for no key update of l`,
);

interface LaneLockRow extends LaneRow {
  readonly lease_id: string | null;
  readonly consecutive_failures: number;
  readonly resting_until: Date | null;
  readonly is_paused: boolean;
}

/** Locks distinct lanes until the transaction ends. Returns the existing ones by `laneText`. */
export const lockLanes = async (
  client: PoolClient,
  lanes: readonly LaneKey[],
): Promise<ReadonlyMap<string, LockedLane>> => lockedLanes(await runStatement(client, lockingLanes(lanes)));

/** The statement of `lockLanes`, to run it with others. */
export const lockingLanes = (lanes: readonly LaneKey[]): Statement => statement.with({ wanted: lanes });

/** The lanes of the statement's rows, by `laneText`. */
export const lockedLanes = (rows: readonly QueryResultRow[]): ReadonlyMap<string, LockedLane> =>
  new Map(
    (rows as readonly LaneLockRow[]).map((row) => {
      const lane = laneOf(row);
      const health = {
        consecutiveFailures: row.consecutive_failures,
        probeAt: row.resting_until ?? undefined,
      };
      return [laneText(lane), { lane, leaseId: row.lease_id ?? '', health, isPaused: row.is_paused }];
    }),
  );
