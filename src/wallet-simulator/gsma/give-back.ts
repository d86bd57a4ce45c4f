import { formatAmount } from '../amount.ts';
import { findAccount, merchantAccount, merchantParty, payerMsisdn, subscriberAccount } from './accounts.ts';
import { losesReversalAnswer, ordinaryOutcome, outcomeOfNumber, outcomeOfReversal } from './outcomes.ts';
import type { Outcome } from './outcomes.ts';
import { payableAmount, unknownTransaction, unsupportedCurrency } from './request-checks.ts';
import { refusedError } from './refusal.ts';
import type { PaymentBody, ReversalBody } from './schemas.ts';
import type { TransactionBook } from './transaction-book.ts';
import type { PlannedTransfer, Transaction } from './transaction.ts';

/** The new transaction that gives money back, and whether its request is answered with an error nevertheless. */
export interface PlannedReturn extends PlannedTransfer {
  readonly type: 'reversal' | 'adjustment';
  readonly originalReference: string | undefined;
  readonly outcome: Outcome;
  readonly losesAnswer: boolean;
}

/**
 * A reversal of a payment, in full or in part.
 * @throws RefusedError
 */
export function planReversal(book: TransactionBook, reference: string, body: ReversalBody): PlannedReturn {
  const original = book.transaction(reference);
  if (original === undefined) throw unknownTransaction(reference);
  const earlier = book.reversalsOf(reference);
  const amount = reversibleAmount(original, earlier, body);
  // Refunds that name no payment count as well.
  requireLeft(amount, leftOfPayer(book, original.debitAccount, original.currency));
  requireReversible(original.outcome);
  return {
    type: body.type,
    debitAccount: original.creditAccount,
    creditAccount: original.debitAccount,
    debitParty: original.creditParty,
    creditParty: original.debitParty,
    amount,
    currency: original.currency,
    originalReference: reference,
    outcome: outcomeOfReversal(original.outcome, earlier.length === 0),
    losesAnswer: losesReversalAnswer(original.outcome),
  };
}

/**
 * A refund that is a transaction of its own. With `originalTransactionReference` it belongs to that payment. Without one, the
 * payer gets at most what all of its payments have left.
 * @throws RefusedError
 */
export function planAdjustment(wallet: string, book: TransactionBook, body: PaymentBody): PlannedReturn {
  const { originalTransactionReference: reference, currency, debitParty } = body;
  const msisdn = body.creditParty === undefined ? undefined : payerMsisdn(body.creditParty, 'creditParty');
  if (debitParty !== undefined && findAccount(debitParty, 'debitParty') !== merchantAccount) {
    throw refusedError('businessRule', 'transactionTypeError', 'A merchant gives back from its own account', {
      debitParty: 'accountid',
    });
  }
  if (reference !== undefined && reference !== '') {
    const planned = planReversal(book, reference, { ...body, type: 'adjustment' });
    if (msisdn !== undefined && planned.creditAccount !== subscriberAccount(msisdn)) {
      throw refusedError('identification', 'identifierError', 'Somebody else made that payment', {
        creditParty: 'msisdn',
      });
    }
    return planned;
  }
  if (msisdn === undefined) {
    throw refusedError('validation', 'mandatoryValueNotSupplied', 'A refund needs creditParty or a payment', {
      creditParty: 'is required without originalTransactionReference',
    });
  }
  const payer = subscriberAccount(msisdn);
  const amount = payableAmount(body.amount, currency);
  requireLeft(amount, leftOfPayer(book, payer, currency));
  const fixed = outcomeOfNumber(wallet, msisdn) ?? ordinaryOutcome;
  requireReversible(fixed);
  return {
    type: 'adjustment',
    debitAccount: merchantAccount,
    creditAccount: payer,
    debitParty: debitParty ?? [merchantParty],
    creditParty: body.creditParty ?? [],
    amount,
    currency,
    originalReference: undefined,
    outcome: outcomeOfAdjustment(wallet, book, payer),
    losesAnswer: losesReversalAnswer(fixed),
  };
}

/** The outcome of a refund without a payment, which the payer's number selects. */
export function outcomeOfAdjustment(wallet: string, book: TransactionBook, payerAccount: string): Outcome {
  const isFirst = !book.ofAccount(payerAccount).some(isOwnAdjustment);
  const fixed = outcomeOfNumber(wallet, payerAccount.replace(/^msisdn@/, ''));
  return outcomeOfReversal(fixed ?? ordinaryOutcome, isFirst);
}

const isOwnAdjustment = ({ type, originalReference }: Transaction): boolean =>
  type === 'adjustment' && originalReference === undefined;

function requireReversible({ reversal }: Outcome): void {
  if (reversal !== 'refused') return;
  throw refusedError('businessRule', 'incorrectState', 'This payment cannot be reversed');
}

function reversibleAmount(
  original: Transaction,
  earlier: readonly Transaction[],
  body: Pick<ReversalBody, 'amount' | 'currency'>,
): bigint {
  if (original.type !== 'merchantpay' || original.state.status !== 'completed') {
    throw refusedError('businessRule', 'incorrectState', 'Only a completed payment can be reversed');
  }
  if (body.currency !== undefined && body.currency !== original.currency)
    throw unsupportedCurrency(body.currency);
  const taken = earlier.filter(({ state }) => state.status !== 'failed');
  const left = taken.reduce((rest, { amount }) => rest - amount, original.amount);
  if (left === 0n)
    throw refusedError('businessRule', 'incorrectState', 'This payment has been reversed already');
  const amount = body.amount === undefined ? left : payableAmount(body.amount, original.currency);
  requireLeft(amount, left);
  return amount;
}

function requireLeft(amount: bigint, left: bigint): void {
  if (amount <= left) return;
  throw refusedError(
    'businessRule',
    'greaterThanTransactionMaxValue',
    'That is more than is left of the payment',
    {
      amount: formatAmount(left),
    },
  );
}

/** The amount that a payer has paid the merchant, minus the money that was or will be given back. */
function leftOfPayer(book: TransactionBook, payer: string, currency: string): bigint {
  let left = 0n;
  for (const transaction of book.ofAccount(payer)) {
    if (transaction.currency !== currency) continue;
    const isPayment = transaction.type === 'merchantpay' && transaction.debitAccount === payer;
    if (isPayment && transaction.state.status === 'completed') left += transaction.amount;
    if (!isPayment && transaction.state.status !== 'failed') left -= transaction.amount;
  }
  return left;
}
