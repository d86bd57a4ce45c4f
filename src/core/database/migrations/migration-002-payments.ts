import { Migration } from '@mikro-orm/migrations';

/** Payment attempts as leased work, the messages exchanged with wallets, and stray payments. */
export class Migration002Payments extends Migration {
  override readonly name = '002-payments';

  override up(): void {
    this.addSql(`
alter table core.payment_attempts
  add column due_at timestamptz(3),
  add column leased_until timestamptz(3),
  add column lease_id uuid,
  add column leases integer not null default 0,
  -- Whether the wallet may have received the request. Then the wallet is queried before a request is sent again.
  add column maybe_sent boolean not null default false,
  add column prompt_until timestamptz(3),
  add column provider_reference text,
  add column provider_transaction_id text,
  add column detail text not null default '';
update core.payment_attempts set due_at = created_at, prompt_until = created_at + interval '3 minutes'
  where status in ('REQUESTED', 'SENT', 'UNKNOWN');
-- The wallets processes read it for all merchants of an environment.
create index payment_attempts_due on core.payment_attempts (environment, payment_option, due_at) where due_at is not null;
create index payment_attempts_phone on core.payment_attempts (phone, created_at);
create index payment_attempts_order on core.payment_attempts (merchant_id, order_id, id);

create table core.wallet_exchanges (
  merchant_id uuid not null,
  payment_attempt_id uuid not null,
  id uuid not null,
  payload bytea not null,
  primary key (merchant_id, payment_attempt_id, id),
  foreign key (merchant_id, payment_attempt_id) references core.payment_attempts (merchant_id, id)
);

create type core.stray_payment_kind as enum ('LATE', 'WRONG_AMOUNT');
create type core.stray_payment_status as enum ('REVERSAL_DUE', 'REVERSED', 'REVERSAL_REFUSED');
create table core.stray_payments (
  merchant_id uuid not null,
  id uuid not null,
  environment core.environment not null,
  order_id uuid not null,
  payment_attempt_id uuid not null,
  payment_option core.payment_option not null,
  provider_transaction_id text not null,
  amount text not null,
  currency text not null,
  kind core.stray_payment_kind not null,
  status core.stray_payment_status not null,
  detail text not null,
  tries integer not null,
  maybe_sent boolean not null,
  provider_reference text,
  due_at timestamptz(3),
  leased_until timestamptz(3),
  lease_id uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_attempt_id) references core.payment_attempts (merchant_id, id),
  check ((status = 'REVERSAL_DUE') = (due_at is not null))
);
-- A transaction is recorded once, even if the wallet reports it again.
create unique index stray_payments_transaction
  on core.stray_payments (merchant_id, payment_attempt_id, provider_transaction_id);
create index stray_payments_due on core.stray_payments (environment, payment_option, due_at) where due_at is not null;

-- A checkout is bound to one browser. This is the hash of the browser's secret.
alter table core.orders add column checkout_browser_hash bytea;
`);
  }
}
