import type { PoolClient } from 'pg';
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

/** The number of blocks in which an event is looked for. Blocks of one merchant hardly overlap, except after a restore. */
const blocksRead = 8;

/** The events of some orders of one merchant, by order and in their order. */
export async function readSealedEvents(
  client: PoolClient,
  merchantId: StoredId<'mer'>,
  orderIds: readonly StoredId<'ord'>[],
): Promise<Map<StoredId<'ord'>, SealedEvent[]>> {
  const rows = await runStatement<Row>(client, {
    text: `
select e.xid::text as xid, e.position::text as position, e.id, e.merchant_id, e.environment, e.order_id, e.sequence, e.type, e.occurred_at,
  e.payload, b.number::text as number, b.ordinal - 1 as ordinal,
  substr(b.salts, (b.ordinal - 1) * 16 + 1, 16) as salt, substr(b.commitments, (b.ordinal - 1) * 32 + 1, 32) as commitment,
  exists (
    select from core.erased_orders r
    where r.merchant_id = e.merchant_id and r.order_id = e.order_id and e.sequence between r.from_sequence and r.to_sequence
  ) as is_erased
from core.order_events e
left join lateral (
  select near.number, near.salts, near.commitments, u.ordinal::integer as ordinal
  from (
    select * from core.event_blocks b where b.merchant_id = e.merchant_id and b.last_position >= e.position
    order by b.last_position limit ${blocksRead}
  ) near
  cross join lateral unnest(near.order_ids, near.sequences) with ordinality u (order_id, sequence, ordinal)
  where near.first_position <= e.position and u.order_id = e.order_id and u.sequence = e.sequence
) b on true
where e.merchant_id = $1 and e.order_id = any($2::uuid[])
order by e.order_id, e.sequence, b.number`,
    values: [merchantId, orderIds],
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
