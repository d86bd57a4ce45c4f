import { Migration } from '@mikro-orm/migrations';

/** Payment links are listed without a walk through all other orders. */
export class Migration016PaymentLinks extends Migration {
  override readonly name = '016-payment-links';

  override up(): void {
    this.addSql(`
-- Only links and QR codes are in it, so that other orders pay nothing for it when they are registered.
create index orders_links on core.orders (merchant_id, environment, id) where payment_type in ('LINK', 'QR');
`);
  }
}
