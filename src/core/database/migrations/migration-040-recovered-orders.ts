import { Migration } from '@mikro-orm/migrations';

/** The result of the recovery for each order of a lost time. Merchants read those of their orders. */
export class Migration040RecoveredOrders extends Migration {
  override readonly name = '040-recovered-orders';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- The result of the latest recovery that had events of the order.
create table core.recovered_orders (
  merchant_id uuid not null,
  order_id uuid not null,
  environment core.environment not null,
  order_number text not null,
  state text not null check (state in ('REBUILT', 'CHANGED_OTHERWISE', 'NUMBER_TAKEN', 'UNREADABLE')),
  recorded_at timestamptz(3) not null,
  primary key (merchant_id, order_id)
);
`);
  }
}
