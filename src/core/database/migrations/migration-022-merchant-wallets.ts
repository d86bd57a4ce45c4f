import { Migration } from '@mikro-orm/migrations';

/** Merchants switch wallets off, and may have accounts of their own at wallets. */
export class Migration022MerchantWallets extends Migration {
  override readonly name = '022-merchant-wallets';

  override up(): void {
    this.addSql(`
alter table core.merchants
  add column sandbox_wallets_off text[] not null default '{}',
  add column production_wallets_off text[] not null default '{}';

create table core.wallet_accounts (
  merchant_id uuid not null references core.merchants (id),
  id uuid not null,
  environment core.environment not null,
  wallet text not null,
  state text not null check (state in ('NEXT', 'CURRENT', 'RETIRED')),
  open_values jsonb not null,
  endings jsonb not null,
  key_name text not null,
  -- AES-256-GCM over the JSON of the secrets, bound to the account.
  sealed_secrets bytea not null,
  check_result text not null check (check_result in ('WAITING', 'ACCEPTED', 'REFUSED', 'UNKNOWN')),
  check_detail text not null default '',
  checked_at timestamptz(3),
  check_due_at timestamptz(3),
  created_at timestamptz(3) not null,
  promoted_at timestamptz(3),
  primary key (merchant_id, id)
);
-- At most one current and one next account for each wallet, even when two people change them at once.
create unique index wallet_accounts_in_use on core.wallet_accounts (merchant_id, environment, wallet, state)
  where state in ('NEXT', 'CURRENT');
create index wallet_accounts_check_due on core.wallet_accounts (environment, wallet, check_due_at)
  where check_due_at is not null;

-- Null for the operator's account, and before the first lease.
alter table core.payment_attempts add column wallet_account_id uuid;
create index payment_attempts_wallet_account on core.payment_attempts (merchant_id, wallet_account_id)
  where wallet_account_id is not null;
`);
  }
}
