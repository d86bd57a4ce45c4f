import { Migration } from '@mikro-orm/migrations';

/** Sealed chains of events, so that a later change of an event, an order, an attempt or a refund can be proven. */
export class Migration035EventChain extends Migration {
  override readonly name = '035-event-chain';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
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
  -- 16 bytes for each event.
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

create trigger append_only before update or delete or truncate on core.event_blocks
  for each statement execute function core.refuse_change();
create trigger append_only before update or delete or truncate on core.audit_roots
  for each statement execute function core.refuse_change();
`);
  }
}
