import { Migration } from '@mikro-orm/migrations';

/** Cheaper upkeep of the busy tables. docs/scaling.md has the measurements. */
export class Migration008Upkeep extends Migration {
  override readonly name = '008-upkeep';

  override up(): void {
    this.addSql(`
-- Attempts are found by their id, phone, due time or wallet reference. No query used this index by order, and each payment
-- wrote it three times.
drop index core.payment_attempts_order;

-- Each ended order or payment leaves a dead entry at the front of the index of due rows, and every query for due rows reads
-- past the dead entries. By default vacuum waits until a fifth of the table is dead. Here it waits for a fiftieth.
alter table core.orders set (autovacuum_vacuum_scale_factor = 0.02);
alter table core.payment_attempts set (autovacuum_vacuum_scale_factor = 0.02);
`);
  }
}
