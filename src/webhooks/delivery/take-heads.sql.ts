import type { Pool, PoolClient } from 'pg';
import { bulkStatement, column, rowList } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import { headOf, headsOf } from './head-rows.sql.ts';
import type { HeadRow } from './head-rows.sql.ts';
import { laneColumns, laneOf, laneText } from './lane-arrays.ts';

/** A held lane, and how many of its deliveries to read. */
export interface HeadRequest {
  readonly lane: LaneKey;
  readonly leaseId: string;
  readonly limit: number;
  /** Deliveries in flight. */
  readonly exceptIds: readonly string[];
}

/** A pure read. Lanes that are paused or held by another process are left out. */
const statement = bulkStatement(
  'take-heads',
  {
    wanted: rowList<HeadRequest>({
      ...laneColumns<HeadRequest>(({ lane }) => lane),
      lease_id: column('uuid', ({ leaseId }) => leaseId),
      heads: column('int', ({ limit }) => limit),
      except_ids: column('text', ({ exceptIds }) => exceptIds.join(',')),
    }),
  },
  (sql) => `
select lane.merchant_id, lane.environment, lane.endpoint, head.*
from ${sql.wanted}
join webhooks.lanes lane using (merchant_id, environment, endpoint, lease_id)
left join lateral (${headsOf('lane', 'wanted.heads', "string_to_array(wanted.except_ids, ',')")}
) head on true
where lane.paused_at is null`,
);

/** More deliveries of held lanes, by lane (`laneText`). A missing lane is paused or held by another process. */
export async function takeHeads(
  client: Pool | PoolClient,
  requests: readonly HeadRequest[],
): Promise<ReadonlyMap<string, readonly OutgoingDelivery[]>> {
  const rows = await runStatement<HeadRow & Record<string, unknown>>(
    client,
    statement.with({ wanted: requests }),
  );
  const taken = new Map<string, OutgoingDelivery[]>();
  for (const row of rows) {
    const lane = laneText(laneOf(row));
    const heads = taken.get(lane) ?? [];
    const head = headOf(row);
    if (head !== undefined) heads.push(head);
    taken.set(lane, heads);
  }
  return taken;
}
