import type { Pool, PoolClient } from 'pg';
import { bulkStatement, column, rowList, scalar } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { isWebhookEndpoint } from '../database/webhook-endpoint.sql.ts';
import type { LaneLease } from '../delivery/lane-runner.ts';
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

/** A delivery that was created. */
export interface InsertedDelivery extends EventReceiver {
  /** When the statement leased its lane, by the database's clock; undefined if a dispatcher must lease the lane. */
  readonly leasedAt: Date | undefined;
}

/**
 * Whether a lane has no other deliveries to send, and its last attempt succeeded. Then its new deliveries are its first ones, and are
 * known without reading them. A release sets `next_due_at` to null only if no delivery is left, and every statement that adds or repeats
 * a delivery sets it.
 */
const isIdle = `(lanes.lease_id is null and lanes.next_due_at is null and lanes.paused_at is null and lanes.resting_until is null
      and lanes.consecutive_failures = 0 and lanes.last_success_at is not null and lanes.awaits_secret_since is null)`;

/**
 * One short statement and commit, because core's event list waits for the oldest writing transaction. Rows are sorted
 * by key, so that concurrent writers of the same events do not deadlock.
 * Only new deliveries wake a lane, and not before its back-off ends. The lane's row is locked even if it is due
 * already. A release locks the row before it reads the remaining deliveries, so it sees these.
 * A webhook endpoint that was deleted meanwhile gets nothing more. The lock makes its deletion wait for this transaction.
 * With a lease, idle lanes are leased as well. That saves the query, commit and round trip of a dispatcher.
 */
const statement = bulkStatement(
  'insert-deliveries',
  {
    input,
    reader: scalar<string | null>('text'),
    cursor: scalar<string | null>('text'),
    lease_id: scalar<string | null>('uuid'),
    lease_ms: scalar<number>('float8'),
    except_owners: scalar<readonly string[]>('text[]'),
  },
  (sql) => {
    const isLeased = `${isIdle} and lanes.merchant_id || ' ' || lanes.environment <> all(${sql.except_owners})`;
    return `
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
    set next_due_at = least(lanes.next_due_at, greatest(excluded.next_due_at, lanes.resting_until)),
      lease_id = case when ${isLeased} then ${sql.lease_id} else lanes.lease_id end,
      leased_until = case when ${isLeased} and ${sql.lease_id} is not null
        then now() + ${sql.lease_ms} * interval '1 millisecond' else lanes.leased_until end
    where lanes.next_due_at is null or lanes.next_due_at > greatest(excluded.next_due_at, lanes.resting_until)
  returning merchant_id, environment, endpoint, lease_id
), moved as (
  insert into webhooks.event_readers (reader, cursor, read_at)
  select ${sql.reader}, ${sql.cursor}, now from clock where ${sql.reader} is not null
  on conflict (reader) do update set cursor = excluded.cursor, read_at = excluded.read_at
)
select
  inserted.event_id, inserted.endpoint, case when woken.lease_id = ${sql.lease_id} then now() end as leased_at
from inserted left join woken using (merchant_id, environment, endpoint)`;
  },
);

/**
 * Creates missing deliveries of events with their lanes, and moves the reader, in one transaction. Returns the new
 * deliveries. With `lease`, it also leases idle lanes, for a caller that sends on them once this is committed.
 */
export async function insertDeliveries(
  client: Pool | PoolClient,
  deliveries: readonly NewDelivery[],
  move?: ReaderMove,
  lease?: LaneLease,
): Promise<readonly InsertedDelivery[]> {
  const rows = await runStatement<{ event_id: string; endpoint: string; leased_at: Date | null }>(
    client,
    statement.with({
      input: deliveries,
      reader: move?.reader ?? null,
      cursor: move?.cursor ?? null,
      lease_id: lease?.leaseId ?? null,
      lease_ms: lease?.leaseMs ?? 0,
      except_owners: lease?.exceptOwners ?? [],
    }),
  );
  return rows.map(({ event_id: eventId, endpoint, leased_at: leasedAt }) => ({
    eventId,
    endpoint,
    leasedAt: leasedAt ?? undefined,
  }));
}
