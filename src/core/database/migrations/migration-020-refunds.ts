import { Migration } from '@mikro-orm/migrations';

/** Refunds, settlements by operators, scopes of API keys, and merchants' limits for refunds by one person. */
export class Migration020Refunds extends Migration {
  override readonly name = '020-refunds';

  override up(): void {
    this.addSql(`
alter type core.order_event_type add value 'REFUND_REQUESTED';
alter type core.order_event_type add value 'REFUND_APPROVED';
alter type core.order_event_type add value 'REFUND_COMPLETED';
alter type core.order_event_type add value 'REFUND_FAILED';
alter type core.order_event_type add value 'STRAY_PAYMENT_SETTLED';

-- Null until the first refund, so that a new order stores nothing for it.
alter table core.orders add column refunded_minor_units bigint;

alter table core.api_keys add column scopes text[] not null default '{}';
-- Decimal text by currency.
alter table core.merchants add column refund_approval_limits jsonb not null default '{}';

create type core.refund_status as enum
  ('AWAITING_APPROVAL', 'APPROVAL_DECLINED', 'REVERSAL_DUE', 'REVERSED', 'REVERSAL_REFUSED');
create table core.refunds (
  merchant_id uuid not null,
  id uuid not null,
  environment core.environment not null,
  refund_number text not null,
  order_id uuid not null,
  order_number text not null,
  payment_attempt_id uuid not null,
  payment_option text not null,
  provider_transaction_id text not null,
  amount_minor_units bigint not null check (amount_minor_units > 0),
  -- Whether the request gave an amount. Otherwise it asked for the remaining amount.
  amount_given boolean not null,
  currency text not null,
  reason text not null,
  requested_by text not null,
  decided_by text not null default '',
  settlement_id uuid,
  status core.refund_status not null,
  detail text not null,
  refusal_reason text not null default '',
  tries integer not null,
  maybe_sent boolean not null,
  provider_reference text,
  callback_notes text[] not null default '{}',
  due_at timestamptz(3),
  leased_until timestamptz(3),
  lease_id uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_attempt_id) references core.payment_attempts (merchant_id, id),
  check ((status = 'REVERSAL_DUE') = (due_at is not null))
);
-- The merchant's own reference makes a repeated request find the refund that it created.
create unique index refunds_number on core.refunds (merchant_id, environment, refund_number);
-- The id is also the reference at the wallet, so it must be unique across merchants.
create unique index refunds_id on core.refunds (id);
create index refunds_order on core.refunds (merchant_id, order_id, id);
create index refunds_due on core.refunds (environment, payment_option, due_at) where due_at is not null;
create index refunds_transaction on core.refunds (provider_transaction_id);

create type core.settlement_outcome as enum ('PAID', 'NOT_PAID', 'RETURNED', 'NOT_RETURNED');
create type core.settlement_status as enum ('PROPOSED', 'CONFIRMED', 'WITHDRAWN');
create table core.settlements (
  id uuid primary key,
  merchant_id uuid not null,
  environment core.environment not null,
  order_id uuid not null,
  payment_attempt_id uuid,
  stray_payment_id uuid,
  refund_id uuid,
  outcome core.settlement_outcome not null,
  status core.settlement_status not null,
  reason text not null check (reason <> ''),
  provider_reference text not null check (provider_reference <> ''),
  proposed_by text not null,
  -- Null for the holder of an operator service token, who counts as one operator.
  proposed_by_user_id uuid,
  decided_by text not null default '',
  created_at timestamptz(3) not null,
  expires_at timestamptz(3) not null,
  decided_at timestamptz(3),
  check (num_nonnulls(payment_attempt_id, stray_payment_id, refund_id) = 1)
);
create index settlements_order on core.settlements (merchant_id, order_id, id);
-- One subject is settled once.
create unique index settlements_confirmed
  on core.settlements (coalesce(payment_attempt_id, stray_payment_id, refund_id)) where status = 'CONFIRMED';

alter table core.stray_payments add column settlement_id uuid;
alter table core.payment_attempts add column settlement_id uuid;
alter table core.reconciliation_differences add column refund_id uuid;
`);
  }
}
