import { Migration } from '@mikro-orm/migrations';

/** What keeping the busy tables in order costs, as it was measured under load: docs/scaling.md has the figures. */
export class Migration008Upkeep extends Migration {
  override readonly name = '008-upkeep';

  override up(): void {
    this.addSql(`
-- Attempts are looked up by their id, their phone, when they are due, or by what their wallet calls them. None of that
-- needs their order, yet each payment wrote this index three times.
drop index core.payment_attempts_order;

-- An order or a payment that has ended leaves a dead entry at the front of the index by which the sweep, or the wallets,
-- find what is due, and everyone who looks walks past all of them. By default vacuum waits until a fifth of the table is
-- dead, which is more the older the shop is; this is a fiftieth.
alter table core.orders set (autovacuum_vacuum_scale_factor = 0.02);
alter table core.payment_attempts set (autovacuum_vacuum_scale_factor = 0.02);
`);
  }
}
