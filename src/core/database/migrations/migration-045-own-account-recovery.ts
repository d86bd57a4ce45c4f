import { Migration } from '@mikro-orm/migrations';

/** Which statements a recovery reads, and at which payee account a payment of a lost order was found. */
export class Migration045OwnAccountRecovery extends Migration {
  override readonly name = '045-own-account-recovery';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- The payee accounts that merchants used at a wallet when the recovery began or have got since, and the operator's.
create table core.recovery_statements (
  recovery_id uuid not null references core.recoveries,
  environment core.environment not null,
  wallet text not null,
  -- Empty for the operator's account.
  payee text not null,
  state text not null check (state in ('READING', 'READ', 'FAILING', 'REMOVED')),
  -- Why the latest reading failed.
  detail text not null default '',
  primary key (recovery_id, environment, wallet, payee)
);

-- Empty for the operator's account.
alter table core.unclaimed_payments add column payee text not null default '';
`);
  }
}
