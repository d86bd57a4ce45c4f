import { Migration } from '@mikro-orm/migrations';

/** Which accounts of merchants a restored database lacks: docs/adr/0044. */
export class Migration046AccountChanges extends Migration {
  override readonly name = '046-account-changes';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- The accounts that new payments use since some time, until the broker has them.
create table core.account_changes (
  id uuid primary key default gen_random_uuid(),
  merchant_id uuid not null references core.merchants (id),
  environment core.environment not null,
  wallet text not null,
  -- Null for the operator's account.
  wallet_account_id uuid,
  -- Null when it is not recorded yet.
  payee text,
  changed_at timestamptz(3) not null
);

-- The accounts of the lost time that were in use and that the restored database did not have. Its merchant may be lost too.
create table core.recovery_accounts (
  recovery_id uuid not null references core.recoveries,
  merchant_id uuid not null,
  wallet_account_id uuid not null,
  environment core.environment not null,
  wallet text not null,
  -- Null when only its payments are known.
  payee text,
  promoted_at timestamptz(3),
  primary key (recovery_id, merchant_id, wallet_account_id)
);

-- Who says that the accounts which merchants added in the lost time are here again. Without all events, the gateway does not know them.
alter table core.recoveries add column accounts_accepted_by text not null default '';
`);
  }
}
