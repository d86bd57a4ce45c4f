import { Migration } from '@mikro-orm/migrations';

/**
 * Core's first tables. Every key begins with merchant_id, so that the tables can be split by merchant. The indexes of the
 * expiry sweep and of the event relay are the exceptions: those two always read one whole database.
 */
export class Migration001Core extends Migration {
  override readonly name = '001-core';

  override up(): void {
    this.addSql(`
create type core.environment as enum ('SANDBOX', 'PRODUCTION');
create type core.merchant_status as enum ('ACTIVE', 'SUSPENDED');
create type core.order_status as enum ('PENDING', 'COMPLETED', 'FAILED', 'EXPIRED');
create type core.payment_type as enum ('LINK', 'QR', 'DIRECT', 'API');
create type core.payment_option as enum ('WALLETA_USSD', 'WALLETB_USSD', 'WALLETA_WALLET');
create type core.payment_attempt_status as enum ('REQUESTED', 'SENT', 'UNKNOWN', 'SUCCEEDED', 'DECLINED', 'TIMED_OUT');
create type core.order_event_type as enum
  ('CREATED', 'PAYMENT_STARTED', 'PAYMENT_DECLINED', 'COMPLETED', 'FAILED', 'EXPIRED');

create table core.merchants (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 128),
  status core.merchant_status not null,
  production_activated boolean not null,
  session_lifetime_seconds integer not null check (session_lifetime_seconds between 300 and 86400),
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null
);

create table core.api_keys (
  merchant_id uuid not null references core.merchants,
  id uuid not null,
  environment core.environment not null,
  prefix text not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  label text not null,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  primary key (merchant_id, id)
);
create unique index api_keys_key_hash on core.api_keys (key_hash);

-- No foreign key to merchants. Merchants are never deleted, and core reads the merchant before it registers an order.
-- The check would cost the most frequent statement a lookup and a row lock.
create table core.orders (
  merchant_id uuid not null,
  environment core.environment not null,
  id uuid not null,
  order_number text collate "C" not null,
  status core.order_status not null,
  payment_type core.payment_type not null,
  amount_text text not null,
  amount_minor_units bigint not null check (amount_minor_units > 0),
  deducted_minor_units bigint not null check (deducted_minor_units >= 0),
  currency text not null,
  customer_phone text not null,
  customer_phone_e164 text not null,
  reason text not null,
  business_name text not null,
  return_url text not null,
  webhook_url text not null,
  last_event_sequence integer not null check (last_event_sequence > 0),
  attempt_count smallint not null,
  latest_attempt_id uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  -- When the sweep checks the order next; null when the order can no longer expire.
  sweep_at timestamptz(3),
  primary key (merchant_id, environment, id),
  check ((status = 'PENDING') = (sweep_at is not null)),
  check (status = 'COMPLETED' or deducted_minor_units = 0)
) with (fillfactor = 90);
create unique index orders_order_number on core.orders (merchant_id, environment, order_number);
create index orders_sweep on core.orders (sweep_at) where sweep_at is not null;

create table core.payment_attempts (
  merchant_id uuid not null,
  environment core.environment not null,
  order_id uuid not null,
  id uuid not null,
  status core.payment_attempt_status not null,
  payment_option core.payment_option not null,
  phone text not null,
  decline_reason text,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, environment, order_id) references core.orders (merchant_id, environment, id),
  check ((status = 'DECLINED') = (decline_reason is not null))
) with (fillfactor = 90);
-- At most one attempt of an order may be paid. The index holds even if the code has a defect.
create unique index payment_attempts_one_open on core.payment_attempts (merchant_id, order_id)
  where status in ('REQUESTED', 'SENT', 'UNKNOWN', 'SUCCEEDED');

-- The history of orders, which is also the outbox. Events are published in the order of xid and position. A row is published
-- when every transaction with a lower xid has ended.
create table core.order_events (
  merchant_id uuid not null,
  environment core.environment not null,
  order_id uuid not null,
  sequence integer not null,
  id uuid not null,
  type core.order_event_type not null,
  occurred_at timestamptz(3) not null,
  payload bytea not null,
  xid xid8 not null default pg_current_xact_id(),
  position bigint generated always as identity,
  primary key (merchant_id, order_id, sequence)
);
create unique index order_events_commit_order on core.order_events (xid, position);

create table core.event_relay (
  stream text primary key,
  xid xid8 not null,
  position bigint not null
);

create table core.audit_entries (
  id uuid primary key,
  created_at timestamptz(3) not null,
  actor text not null,
  action text not null,
  merchant_id uuid not null,
  target_id text not null,
  request_id text not null,
  details jsonb not null
);
create index audit_entries_merchant on core.audit_entries (merchant_id, id);

create function core.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;
create trigger append_only before update or delete or truncate on core.order_events
  for each statement execute function core.refuse_change();
create trigger append_only before update or delete or truncate on core.audit_entries
  for each statement execute function core.refuse_change();
`);
  }
}
