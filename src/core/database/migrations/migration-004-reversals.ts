import { Migration } from '@mikro-orm/migrations';

/** The name under which a wallet knows a reversal: another one each time somebody has a refused one tried again. */
export class Migration004Reversals extends Migration {
  override readonly name = '004-reversals';

  override up(): void {
    this.addSql(`
alter table core.stray_payments add column reversal_id uuid;
-- What is with a wallet already is there under the stray payment's own id, and has to be found again.
update core.stray_payments set reversal_id = id;
alter table core.stray_payments alter column reversal_id set not null;
-- A wallet takes the second request under one name for the first.
create unique index stray_payments_reversal on core.stray_payments (merchant_id, reversal_id);
`);
  }
}
