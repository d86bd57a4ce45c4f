import { Migration } from '@mikro-orm/migrations';

/** Money that the wallet has confirmed holds its order until it is decided. A report alone holds it for minutes. */
export class Migration056ConfirmedPayments extends Migration {
  override readonly name = '056-confirmed-payments';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
alter table core.payer_payments add column confirmed_at timestamptz(3);
`);
  }
}
