import { Migration } from '@mikro-orm/migrations';

/** A payment that was erased by itself is erased again when it gets a new text, although it names an order. */
export class Migration055ErasedPayments extends Migration {
  override readonly name = '055-erased-payments';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
alter table core.payer_payments add column erased_at timestamptz(3);
`);
  }
}
