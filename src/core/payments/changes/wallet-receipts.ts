import type { EntityManager } from '@mikro-orm/postgresql';
import { walletOf } from '../../../contract/payment-option.ts';
import { PayerPaymentRow, WalletReceiptRow } from '../../database/payer-payment-entities.ts';
import type { PaymentAttemptRow } from '../../database/order-entities.ts';
import type { Environment, PaymentOption } from '../../domain/order.ts';

/** A transaction of a wallet. */
export interface WalletTransaction {
  readonly environment: Environment;
  readonly paymentOption: PaymentOption;
  readonly providerTransactionId: string;
}

const keyOf = ({ environment, paymentOption, providerTransactionId }: WalletTransaction) => ({
  environment,
  wallet: walletOf(paymentOption),
  providerTransactionId,
});

/** The use of a transaction; null while it has neither paid an order nor become stray. */
export const findReceipt = (
  em: EntityManager,
  transaction: WalletTransaction,
): Promise<WalletReceiptRow | null> => em.findOne(WalletReceiptRow, keyOf(transaction));

/**
 * How the wallet spells a transaction that a person typed in another case or with blanks; undefined if it has reported none that
 * differs only so. It finds the spellings in one case, which are those of receipts, because an index then answers.
 */
export async function findOtherSpelling(
  em: EntityManager,
  transaction: WalletTransaction,
): Promise<string | undefined> {
  const key = keyOf(transaction);
  if ((await em.findOne(PayerPaymentRow, key)) !== null) return undefined;
  const bare = key.providerTransactionId.replace(/\s/g, '');
  const others = { ...key, providerTransactionId: { $in: [bare, bare.toUpperCase(), bare.toLowerCase()] } };
  const found = (await em.findOne(WalletReceiptRow, others)) ?? (await em.findOne(PayerPaymentRow, others));
  return found?.providerTransactionId;
}

/** Whether the receipt is the attempt's own. */
export const belongsTo = (
  receipt: WalletReceiptRow,
  { merchantId, id }: Pick<PaymentAttemptRow, 'merchantId' | 'id'>,
): boolean => receipt.merchantId === merchantId && receipt.paymentAttemptId === id;

/**
 * Records the use of a transaction, for an attempt or for a stray payment without one. A transaction is used once. If another
 * use is committed meanwhile, the caller's transaction fails and is repeated, and then finds that use.
 */
export function useReceipt(
  em: EntityManager,
  transaction: WalletTransaction,
  attempt: Pick<PaymentAttemptRow, 'merchantId' | 'id'> | undefined,
): void {
  const { merchantId = null, id: paymentAttemptId = null } = attempt ?? {};
  em.create(WalletReceiptRow, { ...keyOf(transaction), merchantId, paymentAttemptId });
}
