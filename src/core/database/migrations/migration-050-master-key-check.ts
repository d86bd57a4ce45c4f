import { Migration } from '@mikro-orm/migrations';

/** A value of the master key, by which core detects that its database belongs to another key: docs/adr/0044. */
export class Migration050MasterKeyCheck extends Migration {
  override readonly name = '050-master-key-check';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- Derived from the master key, and reveals nothing about it. Null before the first core of this version. Empty when an operator has
-- accepted that the key is lost: the next core writes that of its own key.
alter table core.database_life add column master_key_check bytea;
`);
  }
}
