import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { OrderEventType } from '../domain/order.ts';
import { laterCursor } from '../../contract/event-cursor.ts';
import { behindTransactionsBefore } from './event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';

/** One event of an order after its first. */
export interface ChangedOrder {
  readonly id: StoredId<'ord'>;
  readonly type: OrderEventType;
}

/**
 * How far changes have been read. No event can appear at or before `settled` any more. Events between `settled` and `seen`
 * have been read, but a transaction that is still running may add others between them.
 */
export interface ChangesRead {
  readonly settled: EventCursor;
  readonly seen: EventCursor;
}

export interface ChangesReading {
  /** An order is listed once for each event, and again when a running transaction delays its position. */
  readonly changes: readonly ChangedOrder[];
  readonly read: ChangesRead;
  /** Whether more changes were committed than one reading gives. */
  readonly hasMore: boolean;
}

/**
 * The first part reads each event once, as readers of all events do. The second part also reads events that running transactions still hold
 * back from those readers. So a long transaction delays no waiting request.
 */
const text = `
select seen.horizon::text as horizon, change.is_settled, change.xid::text as xid, change.position::text as position,
  change.order_id, change.type
from (select pg_snapshot_xmin(pg_current_snapshot()) as horizon) seen
left join lateral (
  (select true as is_settled, e.xid, e.position, e.order_id, e.type
   from core.order_events e
   where (e.xid, e.position) > ($1::xid8, $2::bigint) and e.xid < seen.horizon and e.type <> 'CREATED'
   order by e.xid, e.position
   limit $5)
  union all
  (select false, e.xid, e.position, e.order_id, e.type
   from core.order_events e
   where (e.xid, e.position) > ($3::xid8, $4::bigint) and e.type <> 'CREATED'
   order by e.xid, e.position
   limit $5)
) change on true`;

interface Horizon {
  readonly horizon: string;
}

interface ChangeRow extends Horizon {
  readonly is_settled: boolean;
  readonly xid: string;
  readonly position: string;
  readonly order_id: StoredId<'ord'>;
  readonly type: OrderEventType;
}

interface NoChangeRow extends Horizon {
  readonly is_settled: null;
}

/** The orders that have changed since the last reading. Registrations are no changes. */
export async function readChangedOrders(
  pool: Pool,
  { settled, seen }: ChangesRead,
  limit: number,
): Promise<ChangesReading> {
  const rows = await runStatement<ChangeRow | NoChangeRow>(pool, {
    text,
    values: [settled.xid, settled.position, seen.xid, seen.position, limit],
  });
  const horizon = behindTransactionsBefore(rows[0]?.horizon ?? '0');
  const found = rows.filter((row) => row.is_settled !== null);
  const settledRows = found.filter((row) => row.is_settled);
  const seenRows = found.filter((row) => !row.is_settled);
  const nowSettled =
    settledRows.length < limit ? laterCursor(settled, horizon) : lastOf(settledRows, settled);
  return {
    changes: found.map(({ order_id: id, type }) => ({ id, type })),
    read: { settled: nowSettled, seen: laterCursor(lastOf(seenRows, seen), nowSettled) },
    hasMore: settledRows.length === limit || seenRows.length === limit,
  };
}

const lastOf = (rows: readonly ChangeRow[], before: EventCursor): EventCursor =>
  rows.map(({ xid, position }) => ({ xid, position })).reduce(laterCursor, before);
