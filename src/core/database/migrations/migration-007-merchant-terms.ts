import { Migration } from '@mikro-orm/migrations';

/** The terms of a merchant. An empty term means that only the deployment's own limit applies. */
export class Migration007MerchantTerms extends Migration {
  override readonly name = '007-merchant-terms';

  override up(): void {
    this.addSql(`
alter table core.merchants
  add column sandbox_payment_options text[] not null default '{}',
  add column production_payment_options text[] not null default '{}',
  add column currencies text[] not null default '{}',
  -- Decimal text by currency.
  add column largest_amounts jsonb not null default '{}',
  add column requests_per_second integer not null default 0 check (requests_per_second between 0 and 100000);
`);
  }
}
