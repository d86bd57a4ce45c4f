import type { PoolClient } from 'pg';
import { bulkStatement, column, rowList, scalar } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment, OrderEventType } from '../domain/order.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import type { StoredId } from '../../contract/public-id.ts';

/** Events of one merchant, type and quarter of an hour. */
export interface EventGroup {
  readonly merchant_id: StoredId<'mer'>;
  readonly environment: Environment;
  readonly type: OrderEventType;
  readonly quarter: Date;
  readonly events: string;
  /** The stored events; null for events of which only the number matters. */
  readonly payloads: Buffer[] | null;
}

export interface EventGroups {
  readonly groups: readonly EventGroup[];
  readonly eventCount: number;
  /** The cursor after the last of these events; undefined when there are none. */
  readonly next: EventCursor | undefined;
}

/**
 * The next events in commit order, below the snapshot's horizon like every reader of events (docs/adr/0004). For events of
 * which only the number matters, which are most of them, the database returns only the number.
 */
export async function nextEventGroups(
  client: PoolClient,
  after: EventCursor,
  limit: number,
): Promise<EventGroups> {
  const rows = await runStatement<EventGroup & { last_xid: string; last_position: string }>(client, {
    text: `
with page as materialized (
  select e.xid, e.position, e.merchant_id, e.environment, e.type, date_bin('15 minutes', e.occurred_at, to_timestamp(0)) as quarter,
    e.payload
  from core.order_events e
  where (e.xid, e.position) > ($1::xid8, $2::bigint) and e.xid < pg_snapshot_xmin(pg_current_snapshot())
  order by e.xid, e.position
  limit $3
), last as (
  select xid::text as last_xid, position::text as last_position from page order by page.xid desc, page.position desc limit 1
)
select merchant_id, environment, type, quarter, count(*)::text as events, last_xid, last_position,
  array_agg(payload) filter (where type not in ('CREATED', 'PAYMENT_STARTED', 'REFUND_REQUESTED', 'REFUND_APPROVED')) as payloads
from page cross join last
group by merchant_id, environment, type, quarter, last_xid, last_position`,
    values: [after.xid, after.position, limit],
  });
  const [first] = rows;
  return {
    groups: rows,
    eventCount: rows.reduce((sum, { events }) => sum + Number(events), 0),
    next: first === undefined ? undefined : { xid: first.last_xid, position: first.last_position },
  };
}

/** The numbers to add to one row of the counts. */
export interface CountedEvents {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly type: OrderEventType;
  readonly quarter: Date;
  /** Empty for events without it. */
  readonly currency: string;
  readonly paymentOption: string;
  readonly reason: string;
  readonly events: number;
  readonly minorUnits: bigint;
}

const counted = rowList<CountedEvents>({
  merchant_id: column('uuid', (row) => row.merchantId),
  environment: column('core.environment', (row) => row.environment),
  type: column('core.order_event_type', (row) => row.type),
  quarter: column('timestamptz', (row) => row.quarter),
  currency: column('text', (row) => row.currency),
  payment_option: column('text', (row) => row.paymentOption),
  reason: column('text', (row) => row.reason),
  events: column('bigint', (row) => row.events),
  minor_units: column('numeric', (row) => row.minorUnits),
});

const addition = bulkStatement(
  undefined,
  {
    counted,
    from_xid: scalar<string>('xid8'),
    from_position: scalar<string>('bigint'),
    xid: scalar<string>('xid8'),
    position: scalar<string>('bigint'),
  },
  (sql) => `
with moved as (
  update core.order_counts_cursor set xid = ${sql.xid}, position = ${sql.position}
  where xid = ${sql.from_xid} and position = ${sql.from_position}
  returning true
), added as (
  insert into core.order_counts as c (${counted.columns})
  select ${counted.columns} from ${sql.counted} where exists (select from moved)
  on conflict (merchant_id, environment, type, quarter, currency, payment_option, reason)
  do update set events = c.events + excluded.events, minor_units = c.minor_units + excluded.minor_units
)
select from moved`,
);

/**
 * Adds to the counts, in key order, and moves the cursor, in one statement. A transaction that has written and waits for its next
 * statement would delay the events of all orders. Returns false, and changes nothing, if the cursor is no longer at `from`.
 */
export async function addToCounts(
  client: PoolClient,
  added: readonly CountedEvents[],
  from: EventCursor,
  to: EventCursor,
): Promise<boolean> {
  const cursors = { from_xid: from.xid, from_position: from.position, ...to };
  const { rowCount } = await client.query(addition.with({ counted: added, ...cursors }));
  return rowCount === 1;
}

/** Begins to count again. */
export async function forgetCounts(client: PoolClient, { xid, position }: EventCursor): Promise<void> {
  await client.query(
    `with gone as (delete from core.order_counts)
     update core.order_counts_cursor set xid = $1::xid8, position = $2`,
    [xid, position],
  );
}
