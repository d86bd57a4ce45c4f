import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../contract/public-id.ts';
import type { Environment } from '../domain/order.ts';

/** An account of a merchant that a restore of the database lost, and whose credentials were not entered again. */
export interface LostAccount {
  readonly id: StoredId<'wac'>;
  /** Empty for the operator's; null when it is not known. */
  readonly payee: string | null;
}

/** The most recently used first. The broker's stream of events named them. */
export const findLostAccounts = (
  em: EntityManager,
  { merchantId, environment, wallet }: LostAccountScope,
): Promise<LostAccount[]> =>
  em.execute<LostAccount[]>(
    `
select r.wallet_account_id as id, max(r.payee) as payee
from core.recovery_accounts r
where r.merchant_id = ? and r.environment = ?::core.environment and r.wallet = ? and not exists (
  select from core.wallet_accounts a where a.merchant_id = r.merchant_id and a.id = r.wallet_account_id
)
group by r.wallet_account_id
order by max(r.promoted_at) desc nulls last, r.wallet_account_id`,
    [merchantId, environment, wallet],
  );

interface LostAccountScope {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly wallet: string;
}
