import { Migration } from '@mikro-orm/migrations';

/** When the wallet may have got a request to return money. Operators settle one that it leaves undecided for an hour. */
export class Migration052AskedSince extends Migration {
  override readonly name = '052-asked-since';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- Null before the first request, and after the requests of an earlier version. Their next lease sets it.
alter table core.stray_payments add column asked_since timestamptz(3);
alter table core.refunds add column asked_since timestamptz(3);
`);
  }
}
