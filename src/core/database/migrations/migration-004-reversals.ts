import { Migration } from '@mikro-orm/migrations';

/** The reference under which a wallet knows a reversal. Each retry of a refused reversal gets a new reference. */
export class Migration004Reversals extends Migration {
  override readonly name = '004-reversals';

  override up(): void {
    this.addSql(`
alter table core.stray_payments add column reversal_id uuid;
-- Reversals that were already sent are known to the wallet by the stray payment's id.
update core.stray_payments set reversal_id = id;
alter table core.stray_payments alter column reversal_id set not null;
-- A wallet treats a second request with the same reference as a repeat of the first.
create unique index stray_payments_reversal on core.stray_payments (merchant_id, reversal_id);
`);
  }
}
