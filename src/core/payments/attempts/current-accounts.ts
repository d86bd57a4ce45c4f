import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../../contract/public-id.ts';
import type { PaymentAttemptRow } from '../../database/order-entities.ts';
import { WalletAccountRow } from '../../database/wallet-account-entity.ts';
import type { Environment } from '../../domain/order.ts';
import { walletIdOf } from '../../domain/wallet.ts';

/** The account with which an attempt begins: the merchant's own current one, or null for the operator's. */
export type CurrentAccounts = (
  attempt: Pick<PaymentAttemptRow, 'merchantId' | 'paymentOption'>,
) => StoredId<'wac'> | null;

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
  const rows = await em.find(
    WalletAccountRow,
    { environment, merchantId: { $in: [...new Set(merchantIds)] }, state: 'CURRENT' },
    { lockMode: LockMode.PESSIMISTIC_READ, orderBy: { id: 'asc' }, fields: ['merchantId', 'id', 'wallet'] },
  );
  const ids = new Map(rows.map((row) => [`${row.merchantId} ${row.wallet}`, row.id]));
  return ({ merchantId, paymentOption }) => ids.get(`${merchantId} ${walletIdOf(paymentOption)}`) ?? null;
}
