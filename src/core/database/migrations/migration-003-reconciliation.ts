import { Migration } from '@mikro-orm/migrations';

/** Reconciliation: comparisons of a wallet's statement with our records. The tables belong to wallets, not to merchants. */
export class Migration003Reconciliation extends Migration {
  override readonly name = '003-reconciliation';

  override up(): void {
    this.addSql(`
create type core.wallet as enum ('WALLETA', 'WALLETB');
create type core.reconciliation_status as enum ('WAITING', 'RUNNING', 'COMPLETED', 'FAILED');
create type core.difference_kind as enum
  ('MISSING_IN_STATEMENT', 'MISSING_HERE', 'AMOUNT_DIFFERS', 'STATUS_DIFFERS', 'UNREADABLE');
create type core.statement_entry_type as enum ('PAYMENT', 'REVERSAL', 'OTHER', 'UNREADABLE');
create type core.statement_entry_status as enum ('COMPLETED', 'PENDING', 'FAILED', 'REVERSED', 'OTHER');

create table core.reconciliations (
  id uuid primary key,
  wallet core.wallet not null,
  environment core.environment not null,
  day date not null,
  status core.reconciliation_status not null,
  scheduled boolean not null,
  started_by text not null,
  due_at timestamptz(3),
  lease_id uuid,
  lease_ms integer not null default 0,
  period_from timestamptz(3),
  period_to timestamptz(3),
  tries integer not null,
  entries integer not null,
  other_entries integer not null,
  differences integer not null,
  detail text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  check ((status in ('WAITING', 'RUNNING')) = (due_at is not null))
);
-- A day is scheduled once, and one process at a time reads its statement.
create unique index reconciliations_open on core.reconciliations (wallet, environment, day)
  where status in ('WAITING', 'RUNNING');
create unique index reconciliations_scheduled on core.reconciliations (wallet, environment, day) where scheduled;
create index reconciliations_due on core.reconciliations (wallet, environment, due_at) where due_at is not null;

-- The lines of a statement during a reconciliation. They are deleted afterwards, because the wallet keeps them.
create table core.statement_entries (
  reconciliation_id uuid not null references core.reconciliations (id),
  position integer not null,
  type core.statement_entry_type not null,
  status core.statement_entry_status,
  provider_transaction_id text not null,
  amount text not null,
  currency text not null,
  request_id text not null,
  original_transaction_id text not null,
  occurred_at timestamptz(3),
  problem text not null,
  primary key (reconciliation_id, position)
);
create index statement_entries_transaction on core.statement_entries (reconciliation_id, provider_transaction_id);

create table core.reconciliation_differences (
  reconciliation_id uuid not null references core.reconciliations (id),
  number integer not null,
  kind core.difference_kind not null,
  provider_transaction_id text not null,
  wallet_amount text not null,
  wallet_currency text not null,
  wallet_status text not null,
  our_amount text not null,
  our_currency text not null,
  our_status text not null,
  merchant_id uuid,
  payment_attempt_id uuid,
  stray_payment_id uuid,
  occurred_at timestamptz(3),
  advice text not null,
  primary key (reconciliation_id, number)
);

-- Statement lines are matched by the wallet's reference and by the day of the payment, across merchants.
create index payment_attempts_transaction on core.payment_attempts (environment, provider_transaction_id)
  where provider_transaction_id is not null;
create index payment_attempts_succeeded on core.payment_attempts (environment, payment_option, updated_at)
  where status = 'SUCCEEDED';
create index stray_payments_by_transaction on core.stray_payments (environment, provider_transaction_id);
create index stray_payments_created on core.stray_payments (environment, payment_option, created_at);
`);
  }
}
