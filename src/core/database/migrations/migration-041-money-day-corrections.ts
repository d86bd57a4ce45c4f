import { Migration } from '@mikro-orm/migrations';

/** The earlier balances of ended days that later reconciliations corrected. */
export class Migration041MoneyDayCorrections extends Migration {
  override readonly name = '041-money-day-corrections';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
create table core.money_day_corrections (
  environment core.environment not null,
  wallet text not null,
  day date not null,
  -- As in core.money_days.
  merchant_id uuid not null,
  currency text not null,
  -- The reconciliation that corrected the balance.
  reconciliation_id uuid not null,
  corrected_at timestamptz(3) not null,
  -- The sums before. All are zero for a merchant who had no balance of the day.
  statement_in numeric not null,
  statement_out numeric not null,
  completed numeric not null,
  strays numeric not null,
  reversals numeric not null,
  refunds numeric not null,
  difference numeric not null
    generated always as (statement_in - statement_out - completed - strays + reversals + refunds) stored,
  primary key (environment, wallet, day, merchant_id, currency, reconciliation_id)
);
create index money_day_corrections_reconciliation on core.money_day_corrections (reconciliation_id);
create trigger append_only before update or delete or truncate on core.money_day_corrections
  for each statement execute function core.refuse_change();
`);
  }
}
