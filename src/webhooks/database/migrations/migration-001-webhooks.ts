import { Migration } from '@mikro-orm/migrations';

/**
 * The first tables of the webhooks process. Ids come from core's events and are stored as text. Every key begins with
 * merchant_id, except where one worker reads the rows of all merchants.
 */
export class Migration001Webhooks extends Migration {
  override readonly name = '001-webhooks';

  override up(): void {
    this.addSql(`
create type webhooks.environment as enum ('SANDBOX', 'PRODUCTION');
create type webhooks.delivery_state as enum ('PENDING', 'DELIVERED', 'GIVEN_UP');
create type webhooks.attempt_result as enum
  ('DELIVERED', 'REFUSED', 'GONE', 'TIMED_OUT', 'CONNECTION_FAILED', 'TLS_FAILED', 'NAME_NOT_RESOLVED', 'ADDRESS_NOT_ALLOWED');

-- Each reader's position in core's list of events. It moves in the transaction that stores the events.
create table webhooks.event_readers (
  reader text primary key,
  cursor text not null,
  read_at timestamptz(3) not null
);

-- A lane holds a merchant's deliveries in one environment to one scheme, host and port. Only the holder of its lease sends
-- them, and only the holder records their outcome.
create table webhooks.lanes (
  merchant_id text collate "C" not null,
  environment webhooks.environment not null,
  endpoint text collate "C" not null,
  -- When a delivery may be due; null when none is pending. Never later than the earliest due delivery.
  next_due_at timestamptz(3),
  lease_id uuid,
  leased_until timestamptz(3),
  consecutive_failures integer not null default 0,
  -- A failing lane backs off until this time. Then one delivery probes it.
  resting_until timestamptz(3),
  paused_at timestamptz(3),
  pause_reason text not null default '',
  -- When the lane was resumed. Schedules count from here if it is later, so paused time does not use up the three days.
  resumed_at timestamptz(3),
  last_success_at timestamptz(3),
  last_failure_at timestamptz(3),
  last_result text not null default '',
  created_at timestamptz(3) not null,
  primary key (merchant_id, environment, endpoint),
  check ((lease_id is null) = (leased_until is null))
) with (fillfactor = 70);
create index lanes_due on webhooks.lanes (next_due_at) where next_due_at is not null and paused_at is null;
create index lanes_in_trouble on webhooks.lanes (merchant_id, environment, endpoint)
  where paused_at is not null or resting_until is not null;

create table webhooks.deliveries (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  environment webhooks.environment not null,
  endpoint text collate "C" not null,
  event_id text collate "C" not null,
  event_type text not null,
  -- Empty on a test event.
  order_id text collate "C" not null,
  order_number text collate "C" not null,
  sequence bigint not null,
  url text not null,
  -- Every attempt sends exactly these bytes.
  body bytea not null,
  state webhooks.delivery_state not null,
  -- Null when the delivery is not pending.
  due_at timestamptz(3),
  attempt_count integer not null default 0,
  -- Attempts since the schedule began, and when it began: at creation, or when it was last redelivered.
  round_attempts integer not null default 0,
  round_started_at timestamptz(3) not null,
  created_at timestamptz(3) not null,
  last_attempt_at timestamptz(3),
  last_result text not null default '',
  delivered_at timestamptz(3),
  given_up_at timestamptz(3),
  redelivery_id text collate "C",
  primary key (merchant_id, id),
  foreign key (merchant_id, environment, endpoint) references webhooks.lanes,
  check ((state = 'PENDING') = (due_at is not null)),
  check ((state = 'GIVEN_UP') = (given_up_at is not null))
) with (fillfactor = 80);
-- An event becomes one delivery, even if it is read again.
create unique index deliveries_event on webhooks.deliveries (merchant_id, event_id);
create index deliveries_due on webhooks.deliveries (merchant_id, environment, endpoint, due_at, id) where state = 'PENDING';
create index deliveries_order on webhooks.deliveries (merchant_id, order_id, sequence) where order_id <> '';
create index deliveries_order_number on webhooks.deliveries (merchant_id, order_number) where order_number <> '';
create index deliveries_given_up on webhooks.deliveries (given_up_at) where given_up_at is not null;
-- Failed deliveries are few, and searched often.
create index deliveries_given_up_of_merchant on webhooks.deliveries (merchant_id, id) where state = 'GIVEN_UP';
create index deliveries_redelivery on webhooks.deliveries (merchant_id, redelivery_id) where redelivery_id is not null;

create table webhooks.delivery_attempts (
  merchant_id text collate "C" not null,
  delivery_id text collate "C" not null,
  number integer not null,
  started_at timestamptz(3) not null,
  duration_ms integer not null,
  result webhooks.attempt_result not null,
  status_code smallint not null,
  detail text not null,
  remote_address text not null,
  response_body bytea not null,
  retry_after text not null,
  primary key (merchant_id, delivery_id, number),
  foreign key (merchant_id, delivery_id) references webhooks.deliveries on delete cascade
);

create table webhooks.signing_secrets (
  merchant_id text collate "C" not null,
  environment webhooks.environment not null,
  id text collate "C" not null,
  -- False for the next secret, which signs webhook-signature beside the current one.
  is_current boolean not null,
  -- The name of the encryption key in the settings.
  key_id text not null,
  -- AES-256-GCM: 12 bytes nonce, ciphertext, 16 bytes tag.
  sealed bytea not null,
  ending text not null,
  shown boolean not null,
  created_at timestamptz(3) not null,
  promote_at timestamptz(3),
  primary key (merchant_id, environment, id),
  check (is_current = (promote_at is null))
);
create unique index signing_secrets_one_each on webhooks.signing_secrets (merchant_id, environment, is_current);
create index signing_secrets_promote on webhooks.signing_secrets (promote_at) where promote_at is not null;

create table webhooks.redeliveries (
  merchant_id text collate "C" not null,
  id text collate "C" not null,
  environment webhooks.environment not null,
  created_from timestamptz(3) not null,
  created_to timestamptz(3) not null,
  states webhooks.delivery_state[] not null,
  -- The last delivery that was examined, by id. It moves in the transaction that makes deliveries pending.
  after_id text collate "C" not null,
  redelivered_count bigint not null default 0,
  -- When the redelivery last made progress. Running redeliveries take turns.
  worked_at timestamptz(3),
  created_at timestamptz(3) not null,
  ended_at timestamptz(3),
  primary key (merchant_id, id)
);
create unique index redeliveries_one_running on webhooks.redeliveries (merchant_id, environment) where ended_at is null;

-- Audit entries that core does not have yet. They are written with the change and deleted when core has stored them.
create table webhooks.audit_outbox (
  id text collate "C" primary key,
  created_at timestamptz(3) not null,
  actor text not null,
  action text not null,
  merchant_id text collate "C" not null,
  target_id text not null,
  request_id text not null,
  details jsonb not null
);

-- Missing events that the reconciler found. Each is repaired, or is a gap that a person must examine.
create table webhooks.findings (
  id text collate "C" primary key,
  found_at timestamptz(3) not null,
  merchant_id text collate "C" not null,
  order_id text collate "C" not null,
  is_repaired boolean not null,
  detail text not null
);
create index findings_time on webhooks.findings (found_at);
`);
  }
}
