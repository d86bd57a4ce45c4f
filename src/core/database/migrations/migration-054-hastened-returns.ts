import { Migration } from '@mikro-orm/migrations';

/** A hint about a refund or reversal that a worker holds makes it due after the worker's report. */
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
