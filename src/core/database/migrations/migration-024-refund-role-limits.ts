import { Migration } from '@mikro-orm/migrations';

/** Merchants limit refunds by the role of the person who requests them. */
export class Migration024RefundRoleLimits extends Migration {
  override readonly name = '024-refund-role-limits';

  override up(): void {
    this.addSql(`
-- Decimal text by role and currency. A role without a limit of its own has the limits in refund_approval_limits.
alter table core.merchants add column refund_role_limits jsonb not null default '{}';
`);
  }
}
