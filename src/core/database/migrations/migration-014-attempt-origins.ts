import { Migration } from '@mikro-orm/migrations';

/** Who asked for an attempt, and what makes an order's stray money quick to find. */
export class Migration014AttemptOrigins extends Migration {
  override readonly name = '014-attempt-origins';

  override up(): void {
    this.addSql(`
-- Null on what is here already and on what cores of the version before still insert.
alter table core.payment_attempts add column origin text check (origin in ('DIRECT', 'CHECKOUT'));
-- Read under the order's lock before another attempt of the order may start.
create index stray_payments_order on core.stray_payments (merchant_id, order_id);
`);
  }
}
