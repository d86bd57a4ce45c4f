import type { EntityManager } from '@mikro-orm/postgresql';
import { walletOf } from '../../../contract/payment-option.ts';
import { bulkStatement, column, plainColumn, rowList } from '../../../platform/database/bulk-statement.ts';
import { runInTransaction } from '../../../platform/database/transaction-statement.ts';
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

/** A transaction that a wallet reports for an attempt. */
export interface ReportedTransaction extends Pick<PaymentAttemptRow, 'merchantId' | 'id'> {
  readonly providerTransactionId: string;
}

/** The use of a transaction. */
type Receipt = Pick<WalletReceiptRow, 'merchantId' | 'paymentAttemptId'>;

const receiptsOfAttempts = bulkStatement(
  'receipts-of-attempts',
  {
    reported: rowList<ReportedTransaction>(
      {
        merchant_id: plainColumn('uuid', (reported) => reported.merchantId),
        id: plainColumn('uuid', (reported) => reported.id),
        provider_transaction_id: column('text', (reported) => reported.providerTransactionId),
      },
      { hidesLength: true },
    ),
  },
  (sql) => `
select a.id, receipt.merchant_id as "merchantId", receipt.payment_attempt_id as "paymentAttemptId"
from ${sql.reported}
join core.payment_attempts a on a.merchant_id = reported.merchant_id and a.id = reported.id
join core.wallet_receipts receipt on receipt.environment = a.environment
  and receipt.wallet = regexp_replace(a.payment_option, '_[a-z]+$', '')
  and receipt.provider_transaction_id = reported.provider_transaction_id`,
);

/** A transaction and its attempt. */
type TransactionOfAttempt = WalletTransaction & Pick<PaymentAttemptRow, 'merchantId' | 'id'>;

/** The uses of transactions that are reported for several attempts, which the same database transaction changes. */
export interface Receipts {
  /** The use of the transaction, also if `use` has just recorded it; null while it has neither paid an order nor become stray. */
  readonly of: (transaction: TransactionOfAttempt) => Receipt | null;
  /** `useReceipt` for an attempt. */
  readonly use: (transaction: TransactionOfAttempt) => void;
}

/** `findReceipt` for the transactions that are reported for several attempts, with one statement. */
export async function findReceipts(
  em: EntityManager,
  all: readonly ReportedTransaction[],
): Promise<Receipts> {
  const rows =
    all.length === 0
      ? []
      : await runInTransaction<Receipt & { id: string }>(em, receiptsOfAttempts.with({ reported: all }));
  const byAttempt = new Map(rows.map(({ id, ...receipt }) => [id, receipt]));
  // The ORM does not refuse a second new row with the same key. It would change the first one.
  const used = new Map<string, Receipt>();
  const nameOf = (transaction: WalletTransaction): string => JSON.stringify(keyOf(transaction));
  return {
    of: (transaction) => byAttempt.get(transaction.id) ?? used.get(nameOf(transaction)) ?? null,
    use: (transaction) => {
      const { merchantId, id } = transaction;
      used.set(nameOf(transaction), { merchantId, paymentAttemptId: id });
      useReceipt(em, transaction, transaction);
    },
  };
}

/**
 * Finds how the wallet spells a transaction that a person typed in another case or with blanks. Undefined if the wallet has reported no
 * such transaction. The typed, the upper-case and the lower-case spelling are looked up in an index. No id in a receipt mixes cases.
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
  receipt: Receipt,
  { merchantId, id }: Pick<PaymentAttemptRow, 'merchantId' | 'id'>,
): boolean => receipt.merchantId === merchantId && receipt.paymentAttemptId === id;

/**
 * Records the use of a transaction, for an attempt or for a stray payment without one. A transaction is used once. If another
 * use is committed meanwhile, the caller's transaction fails. It is then made again (`makeAgainIfTaken`), and finds that use.
 */
export function useReceipt(
  em: EntityManager,
  transaction: WalletTransaction,
  attempt: Pick<PaymentAttemptRow, 'merchantId' | 'id'> | undefined,
): void {
  const { merchantId = null, id: paymentAttemptId = null } = attempt ?? {};
  em.create(WalletReceiptRow, { ...keyOf(transaction), merchantId, paymentAttemptId });
}
