import type { EntityManager } from '@mikro-orm/postgresql';
import type { WalletAccountRow } from '../database/wallet-account-entity.ts';

/**
 * Records for the broker which account new payments use from now on: this one, or the operator's again. It has no credentials. From
 * it, a restored gateway learns which account it lacks.
 */
export const addAccountChange = (
  em: EntityManager,
  { merchantId, environment, wallet, id }: WalletAccountRow,
  { isCurrent }: { readonly isCurrent: boolean },
  at: Date,
): Promise<unknown> =>
  em.execute(
    `
insert into core.account_changes (merchant_id, environment, wallet, wallet_account_id, payee, changed_at)
values (?, ?::core.environment, ?, ?, ${isCurrent ? '(select payee from core.payee_accounts where merchant_id = ? and wallet_account_id = ?)' : "''"}, ?)`,
    [merchantId, environment, wallet, ...(isCurrent ? [id, merchantId, id] : [null]), at.toISOString()],
  );
