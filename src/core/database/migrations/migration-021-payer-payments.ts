import { Migration } from '@mikro-orm/migrations';

/** Payments that payers start themselves, at a till or paybill, and their stray payments. */
export class Migration021PayerPayments extends Migration {
  override readonly name = '021-payer-payments';

  override up(): void {
    this.addSql(`
create table core.payer_payments (
  id uuid primary key,
  environment core.environment not null,
  wallet text not null,
  payment_option text not null,
  provider_transaction_id text not null,
  reference text not null,
  payee text not null,
  amount text not null,
  currency text not null,
  status text not null check (status in ('OPEN', 'ORDER_PAID', 'STRAY', 'REQUESTED_PAYMENT', 'NO_PAYMENT', 'ABANDONED')),
  merchant_id uuid,
  order_id uuid,
  payment_attempt_id uuid,
  stray_payment_id uuid,
  detail text not null default '',
  tries integer not null default 0,
  provider_reference text,
  callback_notes text[] not null default '{}',
  due_at timestamptz(3),
  leased_until timestamptz(3),
  lease_id uuid,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  check ((status = 'OPEN') = (due_at is not null))
);
-- A transaction is recorded once, even if the wallet reports it again.
create unique index payer_payments_transaction on core.payer_payments (environment, wallet, provider_transaction_id);
create index payer_payments_due on core.payer_payments (environment, wallet, due_at) where due_at is not null;

-- A wallet's transaction pays one order or is one stray payment. This table holds for every way to find it.
create table core.wallet_receipts (
  environment core.environment not null,
  wallet text not null,
  provider_transaction_id text not null,
  -- The attempt that the transaction belongs to; null for a stray payment without an attempt.
  merchant_id uuid,
  payment_attempt_id uuid,
  primary key (environment, wallet, provider_transaction_id)
);
insert into core.wallet_receipts
  select environment, regexp_replace(payment_option, '_[a-z]+$', ''), provider_transaction_id, merchant_id, id
  from core.payment_attempts where status = 'SUCCEEDED' and provider_transaction_id is not null
  on conflict do nothing;
insert into core.wallet_receipts
  select environment, regexp_replace(payment_option, '_[a-z]+$', ''), provider_transaction_id, merchant_id, payment_attempt_id
  from core.stray_payments
  on conflict do nothing;

-- Wallets show the end of an attempt's id as its reference. Unsent and paid attempts are never searched, so they are left out.
create index payment_attempts_reference on core.payment_attempts (right(replace(id::text, '-', ''), 15))
  where leases > 0 and status <> 'SUCCEEDED';
alter table core.payment_attempts drop constraint payment_attempts_origin_check;
alter table core.payment_attempts add check (origin in ('DIRECT', 'CHECKOUT', 'PAYER'));

alter type core.stray_payment_kind add value 'NO_ORDER';
alter table core.stray_payments
  alter column order_id drop not null,
  alter column payment_attempt_id drop not null,
  add column payer_payment_id uuid references core.payer_payments,
  add check ((payment_attempt_id is null) = (payer_payment_id is not null));
create unique index stray_payments_payer_payment on core.stray_payments (payer_payment_id) where payer_payment_id is not null;

-- Exchanges about a payer-started payment have its id and no merchant, until an attempt records the payment.
alter table core.wallet_exchanges drop constraint wallet_exchanges_merchant_id_payment_attempt_id_fkey;
`);
  }
}
