import { Migration } from '@mikro-orm/migrations';

/** The origin of each attempt, and an index for an order's stray payments. */
export class Migration014AttemptOrigins extends Migration {
  override readonly name = '014-attempt-origins';

  override up(): void {
    this.addSql(`
-- Null on existing rows, and on rows that cores of the previous version insert.
alter table core.payment_attempts add column origin text check (origin in ('DIRECT', 'CHECKOUT'));
-- Stray payments are read under the order's lock before another attempt may start.
create index stray_payments_order on core.stray_payments (merchant_id, order_id);
`);
  }
}
