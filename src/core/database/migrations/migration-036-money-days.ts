import { Migration } from '@mikro-orm/migrations';

/** The balance of each wallet, merchant and day: the statement's money against the recorded money. */
export class Migration036MoneyDays extends Migration {
  override readonly name = '036-money-days';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- Written by each reconciliation of the day. The newest one replaces the rows of the ones before.
create table core.money_days (
  environment core.environment not null,
  wallet text not null,
  -- In UTC, as the statement dates the money. Money that is not in the statement has the day of its record.
  day date not null,
  -- That of no merchant for money in the statement that no record explains.
  merchant_id uuid not null,
  currency text not null,
  reconciliation_id uuid not null,
  statement_in numeric not null,
  statement_out numeric not null,
  completed numeric not null,
  strays numeric not null,
  reversals numeric not null,
  refunds numeric not null,
  difference numeric not null
    generated always as (statement_in - statement_out - completed - strays + reversals + refunds) stored,
  primary key (environment, wallet, day, merchant_id, currency)
);
create index money_days_different on core.money_days (day) where difference <> 0;
`);
  }
}
