import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { noMerchantId, storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import { eraseAgainByReceipt } from '../../database/erase-again.sql.ts';
import { PayerPaymentRow } from '../../database/payer-payment-entities.ts';
import type { WalletReceiptRow } from '../../database/payer-payment-entities.ts';
import { dueNoLater, hastenedTo } from '../../domain/hastened.ts';
import { nextConfirmation } from '../../domain/payer-payment.ts';
import type { PayerPaymentStatus } from '../../domain/payer-payment.ts';
import type { RecentExchanges } from '../attempts/count-exchanges.sql.ts';

/** A payment that its payer started: the row itself, with stored ids. */
export type PayerPayment = Omit<PayerPaymentRow, symbol>;

/** Locks a payment until the transaction ends. The row may have been read before without its lock. */
export const lockPayerPayment = (em: EntityManager, id: PublicId<'ppm'>): Promise<PayerPaymentRow | null> =>
  em.findOne(
    PayerPaymentRow,
    { id: storedId('ppm', id) },
    { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true },
  );

/** Exchanges belong to the payment until an attempt records it. */
export const exchangeOwner = ({ id }: Pick<PayerPaymentRow, 'id'>) => ({
  merchantId: storedId('mer', noMerchantId),
  id,
});

/**
 * Makes an open or abandoned payment due now, or soon when there are many messages about it (`hastenedTo`). A payment that a
 * worker holds is due as soon as the worker has reported.
 */
export function makeDue(row: PayerPaymentRow, recent: RecentExchanges, at: Date): void {
  if (row.status !== 'ABANDONED' && row.status !== 'OPEN') return;
  const dueAt = hastenedTo(recent.count, at);
  // The three days until it is abandoned begin again.
  if (row.status === 'ABANDONED')
    Object.assign(row, { status: 'OPEN', dueAt, createdAt: at, updatedAt: at, tries: 0 });
  else row.dueAt = dueNoLater(row.dueAt, dueAt);
}

/** Ends the payment. Only an abandoned one keeps its detail. */
export function endPayerPayment(
  row: PayerPaymentRow,
  status: Exclude<PayerPaymentStatus, 'OPEN'>,
  at: Date,
): void {
  const detail = status === 'ABANDONED' ? row.detail : '';
  Object.assign(row, { status, detail, dueAt: null, leasedUntil: null, updatedAt: at });
}

/** Sets when the wallet is asked next, at the end of a lease. */
export function waitForNext(row: PayerPaymentRow, leasedUntil: Date, at: Date): void {
  // The lease made the payment due when the lease expires. An earlier due time comes from a hint that arrived since.
  const hasHint = row.dueAt != null && row.dueAt < leasedUntil;
  row.dueAt = hasHint ? row.dueAt : nextConfirmation(row.tries, at);
}

/**
 * Ends a payment whose transaction belongs to a payment attempt. The wallet's report of the payment is erased with
 * the attempt's order.
 */
export async function belongToAttempt(
  em: EntityManager,
  row: PayerPaymentRow,
  receipt: WalletReceiptRow,
  at: Date,
): Promise<void> {
  const { merchantId = null, paymentAttemptId = null } = receipt;
  Object.assign(row, { merchantId, paymentAttemptId });
  endPayerPayment(row, 'REQUESTED_PAYMENT', at);
  await eraseAgainByReceipt(em, receipt);
}
