import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { PaymentAttemptRow, StrayPaymentRow } from '../../database/order-entities.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import { mayAccountBeRestored } from '../../database/was-account-lost.sql.ts';
import { WalletAccountRow } from '../../database/wallet-account-entity.ts';
import type { RefundSum } from '../../domain/refund-record.ts';
import { readRefundSums } from './refund-sums.sql.ts';

/** The stored sums of the refunds of an order. */
export interface StoredRefundBasis {
  readonly refunds: readonly RefundSum[];
  /** The transaction that paid the order; '' when nothing has. */
  readonly providerTransactionId: string;
  readonly isStrayToo: boolean;
  /** Whether the merchant's own account that was paid does not exist any more. */
  readonly isAccountGone: boolean;
  /** Whether a restore may have lost that account, so that it can be added again. */
  readonly mayAccountBeRestored: boolean;
}

/**
 * Reads the facts that decide about a refund. They stay true while the order is locked. In a transaction, `lock_account` also keeps the
 * merchant's own account from being removed, because a refund that is committed needs it.
 */
export async function readRefundBasis(
  em: EntityManager,
  { merchantId, id: orderId, latestAttemptId }: Pick<OrderRow, 'merchantId' | 'id' | 'latestAttemptId'>,
  lock: 'lock_account' | 'no_lock',
): Promise<StoredRefundBasis> {
  const refunds = await readRefundSums(em, { merchantId, id: orderId });
  const paid =
    latestAttemptId == null
      ? null
      : await em.findOne(PaymentAttemptRow, { merchantId, id: latestAttemptId, status: 'SUCCEEDED' });
  const providerTransactionId = paid?.providerTransactionId ?? '';
  const strays =
    providerTransactionId === ''
      ? 0
      : await em.count(StrayPaymentRow, { merchantId, orderId, providerTransactionId });
  const accountId = paid?.walletAccountId ?? undefined;
  const account =
    accountId === undefined
      ? undefined
      : await em.findOne(
          WalletAccountRow,
          { merchantId, id: accountId },
          {
            fields: ['id'],
            ...(lock === 'lock_account' ? { lockMode: LockMode.PESSIMISTIC_READ } : {}),
          },
        );
  const isAccountGone = account === null;
  return {
    refunds,
    providerTransactionId,
    isStrayToo: strays > 0,
    isAccountGone,
    mayAccountBeRestored:
      isAccountGone &&
      accountId !== undefined &&
      (await mayAccountBeRestored(em, { merchantId, id: accountId })),
  };
}
