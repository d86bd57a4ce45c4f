import { Migration } from '@mikro-orm/migrations';

/**
 * The period of personal data of a merchant. It is not part of 037, which waits for locks of tables with payments: every request reads its
 * merchant.
 */
export class Migration038PersonalDataDays extends Migration {
  override readonly name = '038-personal-data-days';

  override up(): void {
    this.addSql(`
set local lock_timeout = '1s';
-- 0 for the period of the deployment.
alter table core.merchants add column if not exists personal_data_days integer not null default 0
  check (personal_data_days = 0 or personal_data_days between 30 and 36500);
`);
  }
}
