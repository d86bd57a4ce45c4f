import { Migration } from '@mikro-orm/migrations';

/** The erasure of personal data after a period, and of one phone number on request: docs/adr/0045. */
export class Migration037Erasure extends Migration {
  override readonly name = '037-erasure';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';

-- A person's request. The hash is keyed, so that nobody can find the number by trying all numbers.
create table core.erasure_requests (
  id uuid primary key,
  phone_hash bytea not null,
  -- Null for all merchants.
  merchant_id uuid,
  requested_by text not null,
  order_count integer not null,
  payer_payment_count integer not null,
  created_at timestamptz(3) not null
);
create index erasure_requests_phone on core.erasure_requests (phone_hash, id);

-- Orders whose personal data is to be erased.
create table core.erasures_due (
  merchant_id uuid not null,
  environment core.environment not null,
  order_id uuid not null,
  -- Null when the period has ended.
  request_id uuid references core.erasure_requests,
  due_at timestamptz(3) not null,
  -- Why it was not possible at the last try; empty before the first.
  obstacle text not null default '',
  primary key (merchant_id, order_id)
);
create index erasures_due_next on core.erasures_due (due_at);
create index erasures_due_request on core.erasures_due (request_id) where request_id is not null;

-- Orders are examined once, sorted by their ids, which contain the time of their registration. Payments that payers
-- started have the id of no merchant.
create table core.erasure_progress (
  merchant_id uuid not null,
  environment core.environment not null,
  until_id uuid not null,
  primary key (merchant_id, environment)
);

-- One row for each erasure of an order. Other processes read the list and erase their copies.
create table core.erased_orders (
  merchant_id uuid not null,
  environment core.environment not null,
  order_id uuid not null,
  -- The events that were erased.
  from_sequence integer not null,
  to_sequence integer not null,
  erased_at timestamptz(3) not null,
  -- HMAC of what the events contain since then, with a key that is not in the database.
  seal bytea not null,
  xid xid8 not null default pg_current_xact_id(),
  position bigint generated always as identity,
  primary key (merchant_id, order_id, to_sequence)
);
create unique index erased_orders_commit_order on core.erased_orders (xid, position);

-- Refuses every change of a row, except that a transaction which erases personal data may change the named column.
create function core.refuse_unless_erasing() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and current_setting('gatehouse.erasing', true) = 'on'
    and to_jsonb(new) - tg_argv[0] = to_jsonb(old) - tg_argv[0] then
    return new;
  end if;
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;

-- A restore disables the triggers with the name append_only.
drop trigger append_only on core.order_events;
create trigger append_only before update or delete on core.order_events
  for each row execute function core.refuse_unless_erasing('payload');
create trigger append_only_truncate before truncate on core.order_events
  for each statement execute function core.refuse_change();
drop trigger append_only on core.audit_entries;
create trigger append_only before update or delete on core.audit_entries
  for each row execute function core.refuse_unless_erasing('details');
create trigger append_only_truncate before truncate on core.audit_entries
  for each statement execute function core.refuse_change();
drop trigger append_only on core.event_blocks;
create trigger append_only before update or delete on core.event_blocks
  for each row execute function core.refuse_unless_erasing('salts');
create trigger append_only_truncate before truncate on core.event_blocks
  for each statement execute function core.refuse_change();
create trigger append_only before update or delete or truncate on core.erased_orders
  for each statement execute function core.refuse_change();
`);
  }
}
