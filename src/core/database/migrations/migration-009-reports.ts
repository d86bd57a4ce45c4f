import { Migration } from '@mikro-orm/migrations';

/** Search by phone, and counts for reports. */
export class Migration009Reports extends Migration {
  override readonly name = '009-reports';

  override up(): void {
    this.addSql(`
-- Support staff search by the customer's phone. docs/adr/0010 has the cost of this index for a registration.
create index orders_phone on core.orders (merchant_id, environment, customer_phone_e164, id)
  where customer_phone_e164 <> '';

-- Order events by hour. A column is empty for event types that do not have it.
create table core.order_counts (
  merchant_id uuid not null,
  environment core.environment not null,
  type core.order_event_type not null,
  hour timestamptz(0) not null,
  currency text not null,
  payment_option text not null,
  reason text not null,
  events bigint not null check (events > 0),
  minor_units numeric not null check (minor_units >= 0),
  primary key (merchant_id, environment, type, hour, currency, payment_option, reason)
) with (fillfactor = 70);

-- The position of the last counted event. One row, updated in the same transaction as the counts.
create table core.order_counts_cursor (
  only_row boolean primary key default true check (only_row),
  xid xid8 not null,
  position bigint not null
);
insert into core.order_counts_cursor (xid, position) values ('0', 0);
`);
  }
}
