import { Migration } from '@mikro-orm/migrations';

/** The request log takes requests for explanations of orders. */
export class Migration032ExplainRequests extends Migration {
  override readonly name = '032-explain-requests';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
alter type core.api_endpoint add value 'EXPLAIN';
`);
  }
}
