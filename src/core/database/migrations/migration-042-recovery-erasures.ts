import { Migration } from '@mikro-orm/migrations';

/** Whether an operator has repeated the requests for erasure that a restore lost. */
export class Migration042RecoveryErasures extends Migration {
  override readonly name = '042-recovery-erasures';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
-- The operator who has repeated the requests for erasure of the lost time; empty before that.
alter table core.recoveries add column erasures_accepted_by text not null default '';
`);
  }
}
