import { Migration } from '@mikro-orm/migrations';

/** Which merchants a restored database lacks: docs/adr/0044. */
export class Migration048LostMerchants extends Migration {
  override readonly name = '048-lost-merchants';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- The merchants that the broker's events name and the restored database did not have. No foreign key to merchants, because they are missing.
create table core.recovery_merchants (
  recovery_id uuid not null references core.recoveries,
  merchant_id uuid not null,
  -- Those that the events name.
  orders integer not null,
  primary key (recovery_id, merchant_id)
);

-- Who says that the merchants of the lost time are here again. Without all events, the gateway does not know them.
alter table core.recoveries add column merchants_accepted_by text not null default '';
`);
  }
}
