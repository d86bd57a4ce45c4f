import { Migration } from '@mikro-orm/migrations';

/** What it takes to have wallets asked: when each attempt is due and who has it, what went over the wire, and stray money. */
export class Migration002Payments extends Migration {
  override readonly name = '002-payments';

  override up(): void {
    this.addSql(`
alter table core.payment_attempts
  add column due_at timestamptz(3),
  add column leased_until timestamptz(3),
  add column lease_id uuid,
  add column leases integer not null default 0,
  -- Whether the wallet may have been asked: what became of that has to be found out before it is asked again.
  add column maybe_sent boolean not null default false,
  add column prompt_until timestamptz(3),
  add column provider_reference text,
  add column provider_transaction_id text,
  add column detail text not null default '';
update core.payment_attempts set due_at = created_at, prompt_until = created_at + interval '3 minutes'
  where status in ('REQUESTED', 'SENT', 'UNKNOWN');
-- Read by the processes that talk to the wallets of one environment, whatever the merchant.
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
-- The same money is found stray once, however often the wallet reports it.
create unique index stray_payments_transaction
  on core.stray_payments (merchant_id, payment_attempt_id, provider_transaction_id);
create index stray_payments_due on core.stray_payments (environment, payment_option, due_at) where due_at is not null;

-- The browser that a checkout is bound to, by the hash of its secret.
alter table core.orders add column checkout_browser_hash bytea;
`);
  }
}
