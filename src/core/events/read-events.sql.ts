import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment, OrderEventType } from '../domain/order.ts';
import { behindTransactionsBefore } from './event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import type { StoredId } from '../../contract/public-id.ts';

/** Stored ids. */
export interface EventFilter {
  readonly merchantId?: StoredId<'mer'>;
  readonly environment?: Environment;
  readonly orderId?: StoredId<'ord'>;
}

export interface StoredEvent {
  readonly cursor: EventCursor;
  readonly id: StoredId<'evt'>;
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly type: OrderEventType;
  readonly payload: Buffer;
}

export interface EventReading {
  readonly events: readonly StoredEvent[];
  /** The cursor after every visible event, whatever the filter. No event can appear before it any more. */
  readonly horizon: EventCursor;
  /** Whether the cursor names a transaction that this server has not begun, so that another server issued it. */
  readonly isAhead: boolean;
  /**
   * Whether a running transaction holds back events that are committed. They become visible when the transaction ends. Nothing notifies
   * core of that.
   */
  readonly holdsBack: boolean;
  /** Whether the broker lacks changes of merchants' accounts. All that were committed before an event of this reading count. */
  readonly hasAccountChanges: boolean;
}

/**
 * Events in commit order, and always one row with the horizon. An event is visible only when every transaction that began
 * before its own has ended (xid below the snapshot's xmin). From then on no event can appear before it, so a cursor never
 * skips one. Positions alone are not sufficient, because a transaction with an earlier number may commit later.
 * The newest event shows whether events are held back. For `exists` with a condition on xid, the planner expects many such rows,
 * and scans the whole table, which usually has no such row.
 *
 * The events of one order are visible as soon as they are committed. Every writer locks the order first, so no event can
 * appear before them.
 */
function statementFor(filter: EventFilter): { text: string; values: string[] } {
  // Unused conditions are left out instead of made always true, so that the planner can select the index.
  const wanted: [column: string, value: string | undefined][] = [
    ['merchant_id', filter.merchantId],
    ['environment', filter.environment],
    ['order_id', filter.orderId],
  ];
  const given = wanted.flatMap(([column, value]) => (value === undefined ? [] : [{ column, value }]));
  const conditions = given.map(({ column }, index) => `and e.${column} = $${index + 4}`).join(' ');
  const upTo = filter.orderId === undefined ? 'and e.xid < seen.horizon' : '';
  const text = `
select
  seen.horizon::text as horizon, seen.is_ahead, seen.holds_back, seen.has_account_changes, event.xid::text as xid, event.position::text as position, event.id, event.merchant_id,
  event.environment, event.type, event.payload
from (
  select pg_snapshot_xmin(pg_current_snapshot()) as horizon,
    $1::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) as is_ahead,
    coalesce(
      (select e.xid from core.order_events e order by e.xid desc, e.position desc limit 1)
        >= pg_snapshot_xmin(pg_current_snapshot()),
      false
    ) as holds_back,
    exists (select from core.account_changes) as has_account_changes
) seen
left join lateral (
  select e.xid, e.position, e.id, e.merchant_id, e.environment, e.type, e.payload
  from core.order_events e
  where (e.xid, e.position) > ($1::xid8, $2::bigint) ${upTo} ${conditions}
  order by e.xid, e.position
  limit $3
) event on true
order by event.xid, event.position`;
  return { text, values: given.map(({ value }) => value) };
}

interface Horizon {
  /** The oldest transaction that was still running. */
  readonly horizon: string;
}

interface Reach extends Horizon {
  readonly is_ahead: boolean;
  readonly holds_back: boolean;
  readonly has_account_changes: boolean;
}

interface EventRow extends Reach {
  readonly xid: string;
  readonly position: string;
  readonly id: StoredId<'evt'>;
  readonly merchant_id: StoredId<'mer'>;
  readonly environment: Environment;
  readonly type: OrderEventType;
  readonly payload: Buffer;
}

interface NoEventRow extends Reach {
  readonly xid: null;
}

/** How soon events are read again while a running transaction holds some back. */
export const heldBackMs = 20;

/** Up to `limit` events after the cursor. With a name, the server plans the statement once for each connection. */
export async function readEvents(
  client: Pool | PoolClient,
  after: EventCursor,
  limit: number,
  filter: EventFilter = {},
  name?: string,
): Promise<EventReading> {
  const { text, values } = statementFor(filter);
  const rows = await runStatement<EventRow | NoEventRow>(client, {
    ...(name === undefined ? {} : { name }),
    text,
    values: [after.xid, after.position, limit, ...values],
  });
  return {
    events: rows.filter(isEvent).map(eventOf),
    horizon: behindTransactionsBefore(rows[0]?.horizon ?? '0'),
    isAhead: rows[0]?.is_ahead ?? false,
    holdsBack: rows[0]?.holds_back ?? false,
    hasAccountChanges: rows[0]?.has_account_changes ?? false,
  };
}

const isEvent = (row: EventRow | NoEventRow): row is EventRow => row.xid !== null;

const eventOf = (row: EventRow): StoredEvent => ({
  cursor: { xid: row.xid, position: row.position },
  id: row.id,
  merchantId: row.merchant_id,
  environment: row.environment,
  type: row.type,
  payload: row.payload,
});

/** The cursor after every event that can be listed now. */
export async function latestCursor(client: Pool | PoolClient): Promise<EventCursor> {
  const rows = await runStatement<Horizon>(client, {
    text: 'select pg_snapshot_xmin(pg_current_snapshot())::text as horizon',
  });
  return behindTransactionsBefore(rows[0]?.horizon ?? '0');
}
