import { Value } from '@sinclair/typebox/value';
import { canonicalDecimal } from '../../contract/decimal-text.ts';
import type { PaymentOutcome, ReversalOutcome, Unknown, WalletMoney } from '../connector/outcomes.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import type { Reversal, Transaction } from './messages.ts';
import { reversalSchema, transactionSchema } from './messages.ts';
import { judgeFailedState, readErrorMetadata } from './read-error.ts';
import type { ErrorVerdict } from './read-error.ts';
import { unansweredQuery, unknown } from './unknown-outcome.ts';

/** The values that a transaction must have to be the requested one. */
export interface Expected {
  readonly transactionReference: string;
  /** Our id. A transaction with another one belongs to another payment. */
  readonly requestId: string;
}

/** The outcome of a payment, from `GET /transactions/{transactionReference}`. */
export function readPayment(reply: JsonReply, expected: Expected): PaymentOutcome {
  if (reply.kind !== 'answered' || reply.status !== 200) return unansweredQuery(reply);
  if (!reply.body.ok) return unknown('unreadable_answer', reply.body.problem);
  const transaction = reply.body.json;
  if (!Value.Check(transactionSchema, transaction)) {
    return unknown('unreadable_answer', 'the answer is not a transaction');
  }
  const mismatch = findMismatch(transaction, expected, ['merchantpay']);
  if (mismatch !== undefined) return mismatch;
  switch (transaction.transactionStatus.toLowerCase()) {
    case 'pending':
      return { kind: 'pending' };
    case 'completed':
      return {
        kind: 'completed',
        providerTransactionId: transaction.transactionReference,
        ...readMoney(transaction.amount, transaction.currency),
        fees: readFees(transaction),
      };
    case 'failed':
      return readFailure(transaction);
    default:
      return unrecognised(transaction);
  }
}

/** The outcome of a reversal, from `GET /transactions/{transactionReference}` of its transaction. */
export function readReversal(
  reply: JsonReply,
  expected: Expected & { readonly originalTransactionReference: string },
): ReversalOutcome {
  if (reply.kind !== 'answered' || reply.status !== 200) return unansweredQuery(reply);
  if (!reply.body.ok) return unknown('unreadable_answer', reply.body.problem);
  const reversal = reply.body.json;
  if (!Value.Check(reversalSchema, reversal)) {
    return unknown('unreadable_answer', 'the answer is not a reversal');
  }
  const mismatch = findMismatch(reversal, expected, ['reversal', 'adjustment']);
  if (mismatch !== undefined) return mismatch;
  const original = reversal.originalTransactionReference ?? '';
  if (original !== '' && original !== expected.originalTransactionReference) {
    return unknown('inconsistent', 'the answer is about the reversal of another transaction');
  }
  switch (reversal.transactionStatus.toLowerCase()) {
    case 'pending':
      return { kind: 'pending' };
    case 'completed': {
      const { amount, currency } = reversal;
      const providerTransactionId = reversal.transactionReference;
      if (amount === undefined || currency === undefined) return { kind: 'completed', providerTransactionId };
      return { kind: 'completed', providerTransactionId, money: readMoney(amount, currency) };
    }
    case 'failed':
      return refusedReversal(readFailure(reversal));
    default:
      return unrecognised(reversal);
  }
}

/** A reversal waits for no payer, so an expired one counts as refused. */
export function refusedReversal(verdict: ErrorVerdict): ReversalOutcome {
  switch (verdict.kind) {
    case 'declined':
      return { ...verdict, kind: 'refused' };
    case 'timed_out':
      return { kind: 'refused', reason: 'provider_error', providerCode: 'expired', providerText: '' };
    case 'unknown':
      return verdict;
  }
}

/** The reason of a failed transaction. The wallet may omit it. */
function readFailure({ metadata }: Pick<Transaction, 'metadata'>): ErrorVerdict {
  const error = readErrorMetadata(metadata ?? []);
  if (error !== undefined) return judgeFailedState(error);
  return { kind: 'declined', reason: 'provider_error', providerCode: '', providerText: '' };
}

/** The fees that the payer was charged in addition. */
export const readFees = ({ fees }: Pick<Transaction, 'fees'>): readonly WalletMoney[] =>
  (fees ?? []).map(({ feeAmount, feeCurrency }) => readMoney(feeAmount, feeCurrency));

/** An amount in its normal form. Its schema has checked that it is a decimal. */
export function readMoney(amount: string, currency: string): WalletMoney {
  return { amount: canonicalDecimal(amount) ?? amount, currency };
}

function findMismatch(
  transaction: Transaction | Reversal,
  expected: Expected,
  types: readonly string[],
): Unknown | undefined {
  if (transaction.transactionReference !== expected.transactionReference) {
    return unknown('inconsistent', 'the answer is about another transaction than the one asked for');
  }
  const requestId = transaction.requestingOrganisationTransactionReference ?? '';
  if (requestId !== '' && requestId !== expected.requestId) {
    return unknown('inconsistent', 'the transaction carries the reference of another request');
  }
  if (!types.includes(transaction.type.toLowerCase())) {
    return unknown(
      'inconsistent',
      `the transaction is a ${transaction.type.slice(0, 64)}, not a ${types[0]}`,
    );
  }
  return undefined;
}

const unrecognised = ({ transactionStatus }: { transactionStatus: string }): Unknown =>
  unknown('unrecognised_status', `the transaction's status is "${transactionStatus.slice(0, 64)}"`);
