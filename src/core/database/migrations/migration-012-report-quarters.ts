import { Migration } from '@mikro-orm/migrations';

/** Reports for time zones whose offset is not a full hour. */
export class Migration012ReportQuarters extends Migration {
  override readonly name = '012-report-quarters';

  override up(): void {
    this.addSql(`
-- Every time zone differs from UTC by a multiple of 15 minutes: India +5:30, Nepal +5:45. Hourly counts cannot be divided
-- later, so all events are counted again. The column has a new name, so that cores of the previous version cannot add
-- hourly counts to it.
truncate core.order_counts;
alter table core.order_counts rename column hour to quarter;
update core.order_counts_cursor set xid = '0', position = 0;
`);
  }
}
