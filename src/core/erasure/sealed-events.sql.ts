import type { Pool, PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { CommittedEvent } from '../audit/event-commitment.ts';
import type { Environment } from '../domain/order.ts';

/** The place of an event in the chain of its merchant. After a restore, an event can be sealed twice. */
export interface SealEntry {
  readonly block: string;
  /** From 0. */
  readonly ordinal: number;
  readonly salt: Buffer;
  readonly commitment: Buffer;
}

/** An event with its entries in the chain. */
export interface SealedEvent extends CommittedEvent {
  readonly id: StoredId<'evt'>;
  readonly merchantId: StoredId<'mer'>;
  readonly orderId: StoredId<'ord'>;
  readonly environment: Environment;
  readonly xid: string;
  readonly position: string;
  /** Whether an earlier erasure covers it. */
  readonly isErased: boolean;
  readonly entries: readonly SealEntry[];
}

interface Row {
  readonly xid: string;
  readonly position: string;
  readonly id: StoredId<'evt'>;
  readonly merchant_id: StoredId<'mer'>;
  readonly environment: Environment;
  readonly order_id: StoredId<'ord'>;
  readonly sequence: number;
  readonly type: string;
  readonly occurred_at: Date;
  readonly payload: Buffer;
  readonly is_erased: boolean;
  readonly number: string | null;
  readonly ordinal: number;
  readonly salt: Buffer;
  readonly commitment: Buffer;
}

/** Events by their sequences in an order. */
export interface EventRange {
  /** The last sequence before the range. */
  readonly after: number;
  /** The last sequence of the range. */
  readonly until: number;
}

/** The sequence of the last event of each order that has one. */
export async function readLastSequences(
  client: Pool | PoolClient,
  merchantId: StoredId<'mer'>,
  orderIds: readonly StoredId<'ord'>[],
): Promise<ReadonlyMap<StoredId<'ord'>, number>> {
  const rows = await runStatement<{ order_id: StoredId<'ord'>; sequence: number }>(client, {
    text: `
select asked.order_id, last.sequence from unnest($2::uuid[]) as asked (order_id)
cross join lateral (
  select sequence from core.order_events e where e.merchant_id = $1 and e.order_id = asked.order_id order by sequence desc limit 1
) last`,
    values: [merchantId, orderIds],
  });
  return new Map(rows.map(({ order_id: orderId, sequence }) => [orderId, sequence]));
}

/** The number of blocks in which an event is looked for. Blocks of one merchant hardly overlap, except after a restore. */
const blocksRead = 8;

/** The events of some orders of one merchant in a range, grouped by order and sorted by sequence. Each block with one of them is read once. */
export async function readSealedEvents(
  client: PoolClient,
  merchantId: StoredId<'mer'>,
  orderIds: readonly StoredId<'ord'>[],
  { after, until }: EventRange,
): Promise<Map<StoredId<'ord'>, SealedEvent[]>> {
  const rows = await runStatement<Row>(client, {
    text: `
with event as materialized (
  select e.*, exists (
    select from core.erased_orders r
    where r.merchant_id = e.merchant_id and r.order_id = e.order_id and e.sequence between r.from_sequence and r.to_sequence
  ) as is_erased
  from core.order_events e
  where e.merchant_id = $1 and e.order_id = any($2::uuid[]) and e.sequence > $3 and e.sequence <= $4
), block as materialized (
  select distinct near.number
  from event cross join lateral (
    select b.number, b.first_position from core.event_blocks b
    where b.merchant_id = $1 and b.last_position >= event.position
    order by b.last_position limit ${blocksRead}
  ) near
  where near.first_position <= event.position
), entry as materialized (
  select b.number, u.order_id, u.sequence, u.ordinal::integer as ordinal
  from block
  join core.event_blocks b on b.merchant_id = $1 and b.number = block.number
  cross join lateral unnest(b.order_ids, b.sequences) with ordinality u (order_id, sequence, ordinal)
  where u.order_id = any($2::uuid[]) and u.sequence > $3 and u.sequence <= $4
)
select e.xid::text as xid, e.position::text as position, e.id, e.merchant_id, e.environment, e.order_id, e.sequence, e.type, e.occurred_at,
  e.payload, e.is_erased, b.number::text as number, entry.ordinal - 1 as ordinal,
  substr(b.salts, (entry.ordinal - 1) * 16 + 1, 16) as salt, substr(b.commitments, (entry.ordinal - 1) * 32 + 1, 32) as commitment
from event e
left join entry on entry.order_id = e.order_id and entry.sequence = e.sequence
left join core.event_blocks b on b.merchant_id = $1 and b.number = entry.number
order by e.order_id, e.sequence, b.number`,
    values: [merchantId, orderIds, after, until],
  });
  const byOrder = new Map<StoredId<'ord'>, SealedEvent[]>();
  for (const [orderId, rowsOfOrder] of Map.groupBy(rows, (row) => row.order_id)) {
    const bySequence = Map.groupBy(rowsOfOrder, ({ sequence }) => sequence);
    byOrder.set(
      orderId,
      [...bySequence.values()].flatMap((entries) => eventOf(entries) ?? []),
    );
  }
  return byOrder;
}

function eventOf(rows: readonly Row[]): SealedEvent | undefined {
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    id: row.id,
    merchantId: row.merchant_id,
    environment: row.environment,
    orderId: row.order_id,
    sequence: row.sequence,
    type: row.type,
    occurredAt: row.occurred_at,
    payload: row.payload,
    xid: row.xid,
    position: row.position,
    isErased: row.is_erased,
    entries: rows.flatMap(({ number, ordinal, salt, commitment }) =>
      number === null ? [] : [{ block: number, ordinal, salt, commitment }],
    ),
  };
}
