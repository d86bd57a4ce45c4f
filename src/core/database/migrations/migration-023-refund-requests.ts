import { Migration } from '@mikro-orm/migrations';

/** The request log takes requests for refunds. */
export class Migration023RefundRequests extends Migration {
  override readonly name = '023-refund-requests';

  override up(): void {
    this.addSql(`
alter type core.api_endpoint add value 'REFUND';
alter type core.api_endpoint add value 'VERIFY_REFUND';
`);
  }
}
