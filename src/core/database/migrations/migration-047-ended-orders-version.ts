import { Migration } from '@mikro-orm/migrations';

/** Facades keep answers about a merchant's ended orders until this value differs. */
export class Migration047EndedOrdersVersion extends Migration {
  override readonly name = '047-ended-orders-version';

  override up(): void {
    this.addSql(`
set local lock_timeout = '1s';
alter table core.merchants
  add column ended_orders_version uuid not null default '00000000-0000-0000-0000-000000000000';
`);
  }
}
