import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../runtime/database/run-statement.ts';
import type { LaneKey, WebhookEventType } from '../domain/delivery.ts';

/** A delivery that is to be made, due at once. Ids as they are shown. */
export interface NewDelivery extends LaneKey {
  readonly id: string;
  readonly eventId: string;
  readonly eventType: WebhookEventType;
  /** Empty on a test event. */
  readonly orderId: string;
  /** Empty on a test event. */
  readonly orderNumber: string;
  readonly sequence: bigint;
  readonly url: string;
  readonly body: Buffer;
}

/** Where a reader of core's list of events has got to. */
export interface ReaderMove {
  readonly reader: string;
  /** The cursor of the last event that was read; empty before the first. */
  readonly cursor: string;
}

/**
 * One statement, one commit, as short as can be: core's event list waits for the oldest transaction that writes. Sorted
 * by key, so that two writers of the same events wait for each other instead of deadlocking.
 *
 * A lane is woken only by deliveries that are new, and not before it has rested. Its row is locked even when it is due
 * already: who releases a lane locks the row before it looks for what is left, and so sees these deliveries.
 */
const statement = `
with clock as (
  select date_trunc('milliseconds', clock_timestamp()) as now
), input as (
  select * from unnest(
    $1::text[], $2::text[], $3::webhooks.environment[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::bigint[], $10::text[], $11::bytea[]
  ) as t (merchant_id, id, environment, endpoint, event_id, event_type, order_id, order_number, sequence, url, body)
), inserted as (
  insert into webhooks.deliveries (
    merchant_id, id, environment, endpoint, event_id, event_type, order_id, order_number, sequence, url, body,
    state, due_at, round_started_at, created_at
  )
  select
    merchant_id, id, environment, endpoint, event_id, event_type, order_id, order_number, sequence, url, body,
    'PENDING', now, now, now
  from input, clock
  order by merchant_id collate "C", event_id collate "C"
  on conflict (merchant_id, event_id) do nothing
  returning merchant_id, environment, endpoint, event_id
), woken as (
  insert into webhooks.lanes (merchant_id, environment, endpoint, next_due_at, created_at)
  select merchant_id, environment, endpoint, now, now
  from (select distinct merchant_id, environment, endpoint from inserted) lane, clock
  order by merchant_id, environment, endpoint
  on conflict (merchant_id, environment, endpoint) do update
    set next_due_at = least(lanes.next_due_at, greatest(excluded.next_due_at, lanes.resting_until))
    where lanes.next_due_at is null or lanes.next_due_at > greatest(excluded.next_due_at, lanes.resting_until)
), moved as (
  insert into webhooks.event_readers (reader, cursor, read_at)
  select $12::text, $13::text, now from clock where $12::text is not null
  on conflict (reader) do update set cursor = excluded.cursor, read_at = excluded.read_at
)
select event_id from inserted`;

/**
 * Makes the deliveries whose event has none yet, with their lanes, and moves the reader. Gives the event ids of the
 * deliveries that are new. What came of it is committed together, or not at all.
 */
export async function insertDeliveries(
  client: Pool | PoolClient,
  deliveries: readonly NewDelivery[],
  move?: ReaderMove,
): Promise<ReadonlySet<string>> {
  const rows = await runStatement<{ event_id: string }>(client, {
    name: 'insert-deliveries',
    text: statement,
    values: [
      deliveries.map((row) => row.merchantId),
      deliveries.map((row) => row.id),
      deliveries.map((row) => row.environment),
      deliveries.map((row) => row.endpoint),
      deliveries.map((row) => row.eventId),
      deliveries.map((row) => row.eventType),
      deliveries.map((row) => row.orderId),
      deliveries.map((row) => row.orderNumber),
      deliveries.map((row) => row.sequence),
      deliveries.map((row) => row.url),
      deliveries.map((row) => row.body),
      move?.reader ?? null,
      move?.cursor ?? null,
    ],
  });
  return new Set(rows.map(({ event_id: eventId }) => eventId));
}
