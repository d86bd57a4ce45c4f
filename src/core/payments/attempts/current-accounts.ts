import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../../contract/public-id.ts';
import type { PaymentAttemptRow } from '../../database/order-entities.ts';
import { runInTransaction } from '../../../platform/database/transaction-statement.ts';
import type { Environment } from '../../domain/order.ts';
import { walletIdOf } from '../../domain/wallet.ts';

/** The account with which an attempt begins: the merchant's own current one, or null for the operator's. */
export type CurrentAccounts = (
  attempt: Pick<PaymentAttemptRow, 'merchantId' | 'paymentOption'>,
) => StoredId<'wac'> | null;

interface CurrentAccount {
  readonly merchant_id: StoredId<'mer'>;
  readonly id: StoredId<'wac'>;
  readonly wallet: string;
}

const currentAccounts = {
  name: 'lock-current-accounts',
  text: `
select merchant_id, id, wallet from core.wallet_accounts
where environment = $1::core.environment and merchant_id = any($2::uuid[]) and state = 'CURRENT'
order by id for share`,
};

/**
 * The current accounts of these merchants. They are locked against changes until the transaction ends, so that an account
 * is not removed while an attempt begins with it.
 */
export async function lockCurrentAccounts(
  em: EntityManager,
  environment: Environment,
  merchantIds: readonly StoredId<'mer'>[],
): Promise<CurrentAccounts> {
  if (merchantIds.length === 0) return () => null;
  const rows = await runInTransaction<CurrentAccount>(em, {
    ...currentAccounts,
    values: [environment, [...new Set(merchantIds)]],
  });
  const ids = new Map(rows.map((row) => [`${row.merchant_id} ${row.wallet}`, row.id]));
  return ({ merchantId, paymentOption }) => ids.get(`${merchantId} ${walletIdOf(paymentOption)}`) ?? null;
}
