import { formatAmount, oneUnit } from '../amount.ts';
import type { Party } from './accounts.ts';
import type { Outcome } from './outcomes.ts';
import { errorObject } from './refusal.ts';
import type { Refusal } from './refusal.ts';
import type { Description } from './schemas.ts';

export type TransactionState =
  | { readonly status: 'open'; readonly shownAs: string }
  | { readonly status: 'completed' }
  | { readonly status: 'failed'; readonly refusal: Refusal };

/** A payment or a reversal. Money has moved if and only if its state is completed. */
export interface Transaction {
  readonly reference: string;
  readonly type: 'merchantpay' | 'reversal' | 'adjustment';
  /** The names of the accounts in the ledger. */
  readonly debitAccount: string;
  readonly creditAccount: string;
  readonly debitParty: readonly Party[];
  readonly creditParty: readonly Party[];
  readonly currency: string;
  readonly description: Description;
  /** The payment that a reversal reverses. */
  readonly originalReference: string | undefined;
  readonly outcome: Outcome;
  readonly createdAt: Date;
  /** In ten-thousandths. The requested amount until completed, then the charged amount. */
  amount: bigint;
  modifiedAt: Date;
  state: TransactionState;
}

/** The parties and the amount of a transaction that has no reference yet. */
export type PlannedTransfer = Readonly<
  Pick<Transaction, 'debitAccount' | 'creditAccount' | 'debitParty' | 'creditParty' | 'amount' | 'currency'>
>;

/** One sent callback and its result. */
export interface CallbackRecord {
  readonly at: Date;
  readonly tells: 'success' | 'failure';
  /** The HTTP status of the answer, or the reason of a failure. */
  readonly answer: number | string;
}

/** A request for a transaction. The contract calls it a request state. */
export interface PaymentRequest {
  readonly serverCorrelationId: string;
  readonly clientCorrelationId: string | undefined;
  readonly callbackUrl: string | undefined;
  readonly expiresAt: Date;
  readonly transaction: Transaction;
  readonly callbacks: CallbackRecord[];
  /** Whether a person must approve or decline it. */
  readonly awaitsPerson: boolean;
}

export const shownStatus = ({ state }: Transaction): string =>
  state.status === 'open' ? state.shownAs : state.status;

/** The contract's request state. */
export function requestStateObject(request: PaymentRequest, shownAs?: string): object {
  const { transaction } = request;
  const { state } = transaction;
  const status = shownAs ?? shownStatus(transaction);
  return {
    serverCorrelationId: request.serverCorrelationId,
    objectReference: transaction.reference,
    status,
    notificationMethod: request.callbackUrl === undefined ? 'polling' : 'callback',
    ...(status === 'pending'
      ? { pendingReason: 'The payer has not answered yet', expiryTime: request.expiresAt.toISOString() }
      : {}),
    ...(state.status === 'failed' ? { error: errorObject(state.refusal, transaction.modifiedAt) } : {}),
  };
}

/**
 * The contract's transaction. It has no field for an error, so the metadata of a failed one contains it. A client that
 * lost the acknowledgement finds the transaction through /responses and never sees the request state.
 */
export function transactionObject(transaction: Transaction): object {
  const { description, state, originalReference } = transaction;
  const { metadata = [], ...described } = description;
  const allMetadata = [...metadata, ...(state.status === 'failed' ? failureMetadata(state.refusal) : [])];
  return {
    transactionReference: transaction.reference,
    ...described,
    ...(originalReference === undefined ? {} : { originalTransactionReference: originalReference }),
    type: transaction.type,
    transactionStatus: shownStatus(transaction),
    amount: formatAmount(transaction.amount),
    currency: transaction.currency,
    debitParty: transaction.debitParty,
    creditParty: transaction.creditParty,
    ...(state.status === 'completed' ? { transactionReceipt: `R-${transaction.reference}` } : {}),
    creationDate: transaction.createdAt.toISOString(),
    modificationDate: transaction.modifiedAt.toISOString(),
    ...(allMetadata.length === 0 ? {} : { metadata: allMetadata.slice(-20) }),
  };
}

const failureMetadata = ({ category, code, description, parameters }: Refusal): readonly Party[] => [
  { key: 'errorCategory', value: category },
  { key: 'errorCode', value: code },
  { key: 'errorDescription', value: description.slice(0, 256) },
  ...parameters,
];

/** The transaction as in the account's statement; undefined when the statement omits it. */
export function onStatement(transaction: Transaction): Transaction | undefined {
  const { outcome, state } = transaction;
  if (state.status !== 'completed' || outcome.statement === 'true') return transaction;
  return outcome.statement === 'missing'
    ? undefined
    : { ...transaction, amount: transaction.amount + oneUnit };
}

/** The contract's statement entry, which has the same values in fewer fields. */
export function statementEntryObject(transaction: Transaction): object {
  const { description } = transaction;
  return {
    transactionReference: transaction.reference,
    transactionStatus: shownStatus(transaction),
    debitParty: transaction.debitParty,
    creditParty: transaction.creditParty,
    amount: formatAmount(transaction.amount),
    currency: transaction.currency,
    displayType: transaction.type,
    transactionReceipt: `R-${transaction.reference}`,
    ...(description.descriptionText === undefined ? {} : { descriptionText: description.descriptionText }),
    ...(description.requestDate === undefined ? {} : { requestDate: description.requestDate }),
    creationDate: transaction.createdAt.toISOString(),
    modificationDate: transaction.modifiedAt.toISOString(),
  };
}
