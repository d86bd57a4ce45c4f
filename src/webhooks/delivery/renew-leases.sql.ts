import type { Pool } from 'pg';
import { bulkStatement, column, rowList, scalar } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { LaneKey } from '../domain/delivery.ts';
import { laneColumns, laneOf, laneText } from './lane-arrays.ts';
import type { LaneRow } from './lane-arrays.ts';

/** A lane and the id of its lease. */
export interface HeldLease {
  readonly lane: LaneKey;
  readonly leaseId: string;
}

/**
 * An expired lease is still valid while no other process has leased the lane, because each lease has a new id. All
 * writers lock lanes in the same order, which prevents deadlocks.
 */
const statement = bulkStatement(
  'renew-leases',
  {
    held: rowList<HeldLease>({
      ...laneColumns<HeldLease>(({ lane }) => lane),
      lease_id: column('uuid', ({ leaseId }) => leaseId),
    }),
    lease_ms: scalar<number>('float8'),
  },
  (sql) => `
with ours as (
  select merchant_id, environment, endpoint, lease_id
  from ${sql.held}
  join webhooks.lanes l using (merchant_id, environment, endpoint, lease_id)
  order by merchant_id, environment, endpoint
  for no key update of l
)
update webhooks.lanes l
set leased_until = now() + ${sql.lease_ms} * interval '1 millisecond'
from ours
where l.merchant_id = ours.merchant_id and l.environment = ours.environment and l.endpoint = ours.endpoint
  and l.lease_id = ours.lease_id
returning l.merchant_id, l.environment, l.endpoint, l.paused_at is not null as is_paused`,
);

interface RenewedRow extends LaneRow {
  readonly is_paused: boolean;
}

/** Extends leases. Returns the lanes that are still held (`laneText`), and whether they are paused. */
export async function renewLeases(
  pool: Pool,
  leases: readonly HeldLease[],
  leaseMs: number,
): Promise<ReadonlyMap<string, { readonly isPaused: boolean }>> {
  const rows = await runStatement<RenewedRow & Record<string, unknown>>(
    pool,
    statement.with({ held: leases, lease_ms: leaseMs }),
  );
  return new Map(rows.map((row) => [laneText(laneOf(row)), { isPaused: row.is_paused }]));
}
