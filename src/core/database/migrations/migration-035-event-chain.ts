import { Migration } from '@mikro-orm/migrations';

/** Sealed chains of events, so that a later change of an event, an order, an attempt or a refund can be proven. */
export class Migration035EventChain extends Migration {
  override readonly name = '035-event-chain';

  override up(): void {
    this.addSql(`
-- One row, which the first sealing writes. Every event up to this position is in a block.
create table core.event_seal (
  id boolean primary key default true check (id),
  xid xid8 not null,
  position bigint not null,
  -- Never decreases, so that the blocks of a closed day stay the same.
  sealed_at timestamptz(3) not null
);

-- The newest block of each merchant.
create table core.event_chains (
  merchant_id uuid primary key,
  number bigint not null,
  hash bytea not null
);

create table core.event_blocks (
  merchant_id uuid not null,
  number bigint not null check (number > 0),
  previous_hash bytea not null,
  hash bytea not null,
  -- HMAC of the hash, with a key that is not in the database.
  seal bytea not null,
  sealed_at timestamptz(3) not null,
  -- The lowest and the highest position of its events.
  first_position bigint not null,
  last_position bigint not null,
  -- The events in the order of the chain.
  order_ids uuid[] not null,
  sequences integer[] not null,
  -- 16 bytes for each event; zeros after the erasure of its personal data.
  salts bytea not null,
  -- 32 bytes for each event: the hash of its salt and its values.
  commitments bytea not null,
  primary key (merchant_id, number)
);
-- Salts and commitments are random, and one of them is read at a time.
alter table core.event_blocks alter column salts set storage external, alter column commitments set storage external;
create index event_blocks_positions on core.event_blocks (merchant_id, last_position);

-- The state of all chains at the end of a UTC day.
create table core.audit_roots (
  day date primary key,
  previous_root bytea not null,
  root bytea not null,
  signature bytea not null
);

create function core.refuse_block_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and to_jsonb(old) - 'salts' = to_jsonb(new) - 'salts' then return new; end if;
  raise exception '% is append-only: % refused', tg_table_name, tg_op using errcode = 'restrict_violation';
end $$;
create trigger append_only before update or delete on core.event_blocks
  for each row execute function core.refuse_block_change();
create trigger not_truncated before truncate on core.event_blocks
  for each statement execute function core.refuse_change();
create trigger append_only before update or delete or truncate on core.audit_roots
  for each statement execute function core.refuse_change();

-- For the erasure of personal data: nobody can tell any more whether the order's redacted events are the sealed ones. The
-- chain stays valid, because it contains only the commitments.
create function core.forget_event_salts(merchant uuid, forgotten uuid) returns void language plpgsql as $$
declare
  found record;
begin
  for found in
    select b.number, u.place
    from (
      select min(position) as lowest, max(position) as highest from core.order_events
      where merchant_id = merchant and order_id = forgotten
    ) e
    join core.event_blocks b on b.merchant_id = merchant and b.last_position >= e.lowest and b.first_position <= e.highest
    cross join lateral unnest(b.order_ids) with ordinality u(order_id, place)
    where u.order_id = forgotten
  loop
    update core.event_blocks
      set salts = overlay(salts placing decode(repeat('00', 16), 'hex') from (found.place::integer - 1) * 16 + 1)
      where merchant_id = merchant and number = found.number;
  end loop;
end $$;
`);
  }
}
