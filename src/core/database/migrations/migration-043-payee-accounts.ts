import { Migration } from '@mikro-orm/migrations';

/** Which payee account each of the merchants' own wallet accounts has, so that its statement is compared. */
export class Migration043PayeeAccounts extends Migration {
  override readonly name = '043-payee-accounts';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- The statement of an account has money that was requested with another one.
alter type core.difference_kind add value 'OTHER_ACCOUNT';

-- Remains when the account is removed, because its payments remain.
create table core.payee_accounts (
  merchant_id uuid not null references core.merchants (id),
  wallet_account_id uuid not null,
  environment core.environment not null,
  wallet text not null,
  -- The values that name the account which gets the money, such as accountid 3001. Empty for the operator's account.
  payee text not null,
  primary key (merchant_id, wallet_account_id)
);
create index payee_accounts_payee on core.payee_accounts (environment, wallet, payee);
`);
  }
}
