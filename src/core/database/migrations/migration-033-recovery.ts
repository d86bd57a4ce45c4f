import { Migration } from '@mikro-orm/migrations';

/** The record with which core detects that its database was restored, and the progress of its recovery. */
export class Migration033Recovery extends Migration {
  override readonly name = '033-recovery';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- One row, which the first core writes. A copy of the database has the same row at another home.
create table core.database_life (
  id boolean primary key default true check (id),
  -- Marks the published events of this database, so that another database on the same broker ignores them.
  lineage uuid not null,
  home text not null,
  -- A core was connected at this time. In a restored database it is the time of the backup.
  seen_at timestamptz(3) not null
);

-- Differs after a restore: a new server, a new timeline, a new database or a new table.
create function core.database_home() returns text language sql stable as $$
  select format(
    '%s.%s.%s.%s',
    (select system_identifier from pg_control_system()),
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
    (select oid from pg_database where datname = current_database()),
    'core.database_life'::regclass::oid
  )
$$;

create table core.recoveries (
  id uuid primary key,
  cause text not null check (cause in ('NEW_HOME', 'STREAM_AHEAD', 'OPERATOR')),
  -- Changes between these two times may be lost.
  lost_from timestamptz(3) not null,
  lost_until timestamptz(3) not null,
  stream text not null default 'WAITING' check (stream in ('WAITING', 'COMPLETE', 'PARTIAL', 'LOST')),
  -- The newest event in the broker's stream.
  stream_until timestamptz(3),
  rebuilt_orders integer not null default 0,
  rebuilt_events integer not null default 0,
  -- Orders whose events contradict the orders in the database.
  conflicting_orders integer not null default 0,
  -- The operator who has settled them.
  conflicts_accepted_by text not null default '',
  -- The environments that take no payments yet.
  closed text[] not null,
  finished_at timestamptz(3)
);
create unique index recoveries_open on core.recoveries ((true)) where finished_at is null;

create table core.recovery_wallets (
  recovery_id uuid not null references core.recoveries,
  environment core.environment not null,
  wallet text not null,
  state text not null check (state in ('WAITING', 'READ', 'ACCEPTED')),
  -- Whether the wallet's statement contains every payment through it.
  has_statement boolean not null,
  obstacle text not null default '' check (obstacle in ('', 'no_statement', 'own_accounts', 'too_long')),
  -- Payments in the statement that no record explains.
  unclaimed_payments integer not null default 0,
  decided_by text not null default '',
  primary key (recovery_id, environment, wallet)
);

-- Money at a wallet with a reference of ours that no record has. Its order was lost.
create table core.unclaimed_payments (
  environment core.environment not null,
  wallet text not null,
  provider_transaction_id text not null,
  request_id text not null,
  -- The last characters of the reference, which core can derive from the order's number.
  reference_end text not null,
  amount text not null,
  currency text not null,
  occurred_at timestamptz(3),
  found_at timestamptz(3) not null,
  claimed_at timestamptz(3),
  primary key (environment, wallet, provider_transaction_id)
);
create index unclaimed_payments_reference on core.unclaimed_payments (environment, reference_end) where claimed_at is null;

-- Whether wallets may be called for new money. Every lease asks, so that no core needs to know of a restore first.
create function core.takes_payments(asked core.environment) returns boolean language sql stable as $$
  select coalesce((select home = core.database_home() from core.database_life), true)
    and not exists (select from core.recoveries where finished_at is null and asked::text = any (closed))
$$;
`);
  }
}
