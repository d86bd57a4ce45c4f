import { Migration } from '@mikro-orm/migrations';

/** The reason why a wallet refused a reversal, as a code beside the wallet's own text. */
export class Migration018RefusalReasons extends Migration {
  override readonly name = '018-refusal-reasons';

  override up(): void {
    this.addSql(`
alter table core.stray_payments
  -- Empty on rows of cores of the previous version, whose detail begins with the code.
  add column refusal_reason text not null default '';
`);
  }
}
