import { Migration } from '@mikro-orm/migrations';

/** Which merchants wait after a restore while others take payments: docs/adr/0044. */
export class Migration049RecoveryHolds extends Migration {
  override readonly name = '049-recovery-holds';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- Merchants whose own accounts were not compared yet. No foreign key to merchants, because a lost one may be missing.
create table core.recovery_holds (
  recovery_id uuid not null references core.recoveries,
  environment core.environment not null,
  merchant_id uuid not null,
  primary key (recovery_id, environment, merchant_id)
);

-- The merchants that take no payments in an environment that is open. Every lease of payments asks.
create function core.held_merchants(asked core.environment) returns uuid[] language sql stable as $$
  select coalesce(array_agg(h.merchant_id), '{}')
  from core.recovery_holds h
  where h.environment = asked and h.recovery_id in (select id from core.recoveries where finished_at is null)
$$;
`);
  }
}
