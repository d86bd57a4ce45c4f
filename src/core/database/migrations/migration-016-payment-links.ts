import { Migration } from '@mikro-orm/migrations';

/** An index that lists payment links without reading other orders. */
export class Migration016PaymentLinks extends Migration {
  override readonly name = '016-payment-links';

  override up(): void {
    this.addSql(`
-- It contains only links and QR codes, so that other registrations do not write it.
create index orders_links on core.orders (merchant_id, environment, id) where payment_type in ('LINK', 'QR');
`);
  }
}
