import { Migration } from '@mikro-orm/migrations';

/** The time of a hint that arrived while a worker held the refund or reversal, which is then due again after the worker's report. */
export class Migration054HastenedReturns extends Migration {
  override readonly name = '054-hastened-returns';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
alter table core.stray_payments add column hastened_to timestamptz(3);
alter table core.refunds add column hastened_to timestamptz(3);
`);
  }
}
