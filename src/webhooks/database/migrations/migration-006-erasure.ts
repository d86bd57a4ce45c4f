import { Migration } from '@mikro-orm/migrations';

/** Orders whose personal data core has erased, until their deliveries are erased too. */
export class Migration006Erasure extends Migration {
  override readonly name = '006-erasure';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';

-- One row: the position in core's list of erased orders.
create table webhooks.erasure_reader (
  id boolean primary key default true check (id),
  cursor text not null
);

create table webhooks.erasures_due (
  merchant_id text collate "C" not null,
  order_id text collate "C" not null,
  due_at timestamptz(3) not null,
  -- Whether they were erased once. Deliveries that were on their way then are erased at the second time.
  was_erased boolean not null default false,
  primary key (merchant_id, order_id)
);
create index erasures_due_next on webhooks.erasures_due (due_at);
`);
  }
}
