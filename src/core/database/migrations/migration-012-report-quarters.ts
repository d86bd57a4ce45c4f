import { Migration } from '@mikro-orm/migrations';

/** Reports of days that begin at half past, or at a quarter to. */
export class Migration012ReportQuarters extends Migration {
  override readonly name = '012-report-quarters';

  override up(): void {
    this.addSql(`
-- Clocks differ from UTC by full quarters of an hour, the world over: India +5:30, Nepal +5:45. What was counted by the hour
-- cannot be divided afterwards, so everything is counted anew. The new name stops cores of the version before from adding
-- their hours to it.
truncate core.order_counts;
alter table core.order_counts rename column hour to quarter;
update core.order_counts_cursor set xid = '0', position = 0;
`);
  }
}
