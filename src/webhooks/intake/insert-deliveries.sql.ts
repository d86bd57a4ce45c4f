import type { Pool, PoolClient } from 'pg';
import { bulkStatement, column, rowList, scalar } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { isWebhookEndpoint } from '../database/webhook-endpoint.sql.ts';
import type { LaneKey, WebhookEventType } from '../domain/delivery.ts';

/** A new delivery, due at once, with public ids. */
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

/** The new position of a reader of core's event list. */
export interface ReaderMove {
  readonly reader: string;
  /** The cursor of the last event that was read; empty before the first. */
  readonly cursor: string;
}

const input = rowList<NewDelivery>({
  merchant_id: column('text', (row) => row.merchantId),
  id: column('text', (row) => row.id),
  environment: column('webhooks.environment', (row) => row.environment),
  endpoint: column('text', (row) => row.endpoint),
  event_id: column('text', (row) => row.eventId),
  event_type: column('text', (row) => row.eventType),
  order_id: column('text', (row) => row.orderId),
  order_number: column('text', (row) => row.orderNumber),
  sequence: column('bigint', (row) => row.sequence),
  url: column('text', (row) => row.url),
  body: column('bytea', (row) => row.body),
});

/** The receiver of an event: the key of its lane. */
export interface EventReceiver {
  readonly eventId: string;
  readonly endpoint: string;
}

/**
 * One short statement and commit, because core's event list waits for the oldest writing transaction. Rows are sorted
 * by key, so that concurrent writers of the same events do not deadlock.
 * Only new deliveries wake a lane, and not before its back-off ends. The lane's row is locked even if it is due
 * already. A release locks the row before it reads the remaining deliveries, so it sees these.
 * A webhook endpoint that was deleted meanwhile gets nothing more. The lock makes its deletion wait for this transaction.
 */
const statement = bulkStatement(
  'insert-deliveries',
  { input, reader: scalar<string | null>('text'), cursor: scalar<string | null>('text') },
  (sql) => `
with clock as (
  select date_trunc('milliseconds', clock_timestamp()) as now
), input as (
  select * from ${sql.input}
), webhook_endpoint as materialized (
  select e.merchant_id, e.id from webhooks.webhook_endpoints e
  where (e.merchant_id, e.id) in (
    select merchant_id, endpoint from input where ${isWebhookEndpoint('endpoint')}
  ) and e.deleted_at is null
  order by e.merchant_id, e.id
  for key share
), inserted as (
  insert into webhooks.deliveries (
    ${input.columns},
    state, due_at, round_started_at, created_at
  )
  select
    ${input.columns},
    'PENDING', now, now, now
  from input, clock
  where not (${isWebhookEndpoint('endpoint')})
    or exists (select from webhook_endpoint e where e.merchant_id = input.merchant_id and e.id = input.endpoint)
  order by merchant_id collate "C", event_id collate "C", endpoint collate "C"
  on conflict (merchant_id, event_id, endpoint) do nothing
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
  select ${sql.reader}, ${sql.cursor}, now from clock where ${sql.reader} is not null
  on conflict (reader) do update set cursor = excluded.cursor, read_at = excluded.read_at
)
select event_id, endpoint from inserted`,
);

/**
 * Creates missing deliveries of events with their lanes, and moves the reader, in one transaction. Returns the new
 * deliveries.
 */
export async function insertDeliveries(
  client: Pool | PoolClient,
  deliveries: readonly NewDelivery[],
  move?: ReaderMove,
): Promise<readonly EventReceiver[]> {
  const rows = await runStatement<{ event_id: string; endpoint: string }>(
    client,
    statement.with({ input: deliveries, reader: move?.reader ?? null, cursor: move?.cursor ?? null }),
  );
  return rows.map(({ event_id: eventId, endpoint }) => ({ eventId, endpoint }));
}
