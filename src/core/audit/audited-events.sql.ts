import type { PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { CommittedEvent } from './event-commitment.ts';
import { committedEventOf } from './seal-events.ts';

/** An event with its entry in the chain. Without an event, `id` is null. Without an entry, `number` is null. */
export interface AuditedRow {
  readonly order_id: StoredId<'ord'>;
  readonly sequence: number;
  readonly id: string | null;
  readonly environment: string;
  readonly type: string;
  readonly occurred_at: Date;
  readonly payload: Buffer;
  readonly number: string | null;
  readonly salt: Buffer | null;
  readonly commitment: Buffer | null;
  /** Whether sealing has passed the event's position, so that a block must have it. */
  readonly is_passed: boolean;
}

export const pageSize = 500;

/** PostgreSQL sorts, on disk if need be. After a restore, an event may have two entries. */
const eventsText = (merchantId: string): string => `
declare audited_events no scroll cursor for
with sealed as (
  select u.order_id, u.sequence, b.number,
    substr(b.salts, (u.ordinal::integer - 1) * 16 + 1, 16) as salt,
    substr(b.commitments, (u.ordinal::integer - 1) * 32 + 1, 32) as commitment
  from core.event_blocks b
  cross join lateral unnest(b.order_ids, b.sequences) with ordinality u(order_id, sequence, ordinal)
  where b.merchant_id = '${merchantId}' and order_id is not null and sequence is not null
), stored as (
  select e.*, coalesce((e.xid, e.position) <= (s.xid, s.position), false) as is_passed
  from core.order_events e left join core.event_seal s on true
  where e.merchant_id = '${merchantId}'
)
select order_id, sequence, stored.id, stored.environment, stored.type, stored.occurred_at, stored.payload,
  sealed.number::text as number, sealed.salt, sealed.commitment, coalesce(stored.is_passed, true) as is_passed
from stored full join sealed using (order_id, sequence)
order by order_id, sequence, sealed.number`;

/** Pages of all events of a merchant with their entries, by order and sequence, within a transaction. */
export async function* readAuditedEvents(
  client: PoolClient,
  merchantId: StoredId<'mer'>,
): AsyncGenerator<AuditedRow[], undefined> {
  await client.query(eventsText(merchantId));
  for (let isLast = false; !isLast;) {
    const rows = await runStatement<AuditedRow>(client, { text: `fetch ${pageSize} from audited_events` });
    isLast = rows.length < pageSize;
    yield rows;
  }
  await client.query('close audited_events');
}

export interface OneOrder {
  readonly merchantId: StoredId<'mer'>;
  readonly orderId: StoredId<'ord'>;
}

interface EventRow extends Omit<AuditedRow, 'id' | 'number' | 'salt' | 'commitment' | 'is_passed'> {
  readonly id: string;
}

/** Pages of the events of an order from one sequence to another. */
export async function* readEventRange(
  client: PoolClient,
  { merchantId, orderId }: OneOrder,
  from: number,
  to: number,
): AsyncGenerator<readonly CommittedEvent[], undefined> {
  for (let after = from - 1; ;) {
    const rows = await runStatement<EventRow>(client, {
      text: `
select order_id, sequence, id, environment, type, occurred_at, payload from core.order_events
where merchant_id = $1 and order_id = $2 and sequence > $3 and sequence <= $4 order by sequence limit ${pageSize}`,
      values: [merchantId, orderId, after, to],
    });
    yield rows.map((row) => committedEventOf({ ...row, merchant_id: merchantId }));
    if (rows.length < pageSize) return;
    after = rows.at(-1)?.sequence ?? to;
  }
}

/** The contents of some events of an order, by sequence. */
export async function readPayloads(
  client: PoolClient,
  { merchantId, orderId }: OneOrder,
  sequences: readonly number[],
): Promise<Buffer[]> {
  const rows = await runStatement<{ payload: Buffer }>(client, {
    text: `
select payload from core.order_events
where merchant_id = $1 and order_id = $2 and sequence = any($3::integer[]) order by sequence`,
    values: [merchantId, orderId, sequences],
  });
  return rows.map(({ payload }) => payload);
}
