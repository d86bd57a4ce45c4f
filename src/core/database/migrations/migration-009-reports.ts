import { Migration } from '@mikro-orm/migrations';

/** What orders are found and summed up by. */
export class Migration009Reports extends Migration {
  override readonly name = '009-reports';

  override up(): void {
    this.addSql(`
-- The one search that customers begin: by their phone. What it costs a registration is in docs/adr/0010.
create index orders_phone on core.orders (merchant_id, environment, customer_phone_e164, id)
  where customer_phone_e164 <> '';

-- The events of orders, counted by the hour in which they happened. Empty texts where a column says nothing of a type.
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

-- Up to where events are in the counts: one row, changed with them in one transaction.
create table core.order_counts_cursor (
  only_row boolean primary key default true check (only_row),
  xid xid8 not null,
  position bigint not null
);
insert into core.order_counts_cursor (xid, position) values ('0', 0);
`);
  }
}
