import { Migration } from '@mikro-orm/migrations';

/** A stray payment without an order can be settled by hand too. */
export class Migration030SettledStraysWithoutOrder extends Migration {
  override readonly name = '030-settled-strays-without-order';

  override up(): void {
    this.addSql(`
alter table core.settlements alter column order_id drop not null,
  add constraint settlements_order_id_check check (order_id is not null or stray_payment_id is not null);
`);
  }
}
