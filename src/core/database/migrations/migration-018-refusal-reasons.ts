import { Migration } from '@mikro-orm/migrations';

/** Why a wallet refused a reversal, as a word beside the wallet's own text. */
export class Migration018RefusalReasons extends Migration {
  override readonly name = '018-refusal-reasons';

  override up(): void {
    this.addSql(`
alter table core.stray_payments
  -- Empty on what cores of the version before record: their detail begins with the word.
  add column refusal_reason text not null default '';
`);
  }
}
