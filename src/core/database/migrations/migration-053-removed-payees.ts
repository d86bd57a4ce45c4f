import { Migration } from '@mikro-orm/migrations';

/**
 * Merchants' own wallet accounts that were removed before migration 043: nobody knows their payee any more. It may read all payment
 * attempts, so it holds no lock that another transaction waits for.
 */
export class Migration053RemovedPayees extends Migration {
  override readonly name = '053-removed-payees';

  override up(): void {
    this.addSql(`
set local lock_timeout = '2s';
insert into core.payee_accounts (merchant_id, wallet_account_id, environment, wallet, payee)
select used.merchant_id, used.wallet_account_id, a.environment, regexp_replace(a.payment_option, '_[a-z]+$', ''), 'removed account'
from (
  select distinct merchant_id, wallet_account_id from core.payment_attempts where wallet_account_id is not null
) used
cross join lateral (
  select environment, payment_option from core.payment_attempts
  where merchant_id = used.merchant_id and wallet_account_id = used.wallet_account_id limit 1
) a
where not exists (
  select from core.wallet_accounts w where w.merchant_id = used.merchant_id and w.id = used.wallet_account_id
)
on conflict do nothing;
`);
  }
}
