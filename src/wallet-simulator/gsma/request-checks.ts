import { isCurrency, parseAmount } from '../amount.ts';
import { accountIfKnown } from './accounts.ts';
import { refusedError } from './refusal.ts';
import type { RefusedError } from './refusal.ts';
import type { PaymentBody } from './schemas.ts';

/** @throws RefusedError */
export function payableAmount(text: string, currency: string): bigint {
  if (!isCurrency(currency)) throw unsupportedCurrency(currency);
  const amount = parseAmount(text);
  if (amount > 0n) return amount;
  throw refusedError('businessRule', 'lessThanTransactionMinValue', 'The amount must be more than zero', {
    amount: text,
  });
}

/**
 * A transaction has at least one party, and two different ones. A code names its payer, so it needs no party.
 * @throws RefusedError
 */
export function requireParties({ debitParty, creditParty, oneTimeCode = '' }: PaymentBody): void {
  if (debitParty === undefined && creditParty === undefined && oneTimeCode === '') {
    const problem = 'is required, or the other party';
    throw refusedError('validation', 'mandatoryValueNotSupplied', 'debitParty or creditParty is required', {
      debitParty: problem,
      creditParty: problem,
    });
  }
  requireTwoAccounts(accountIfKnown(debitParty), accountIfKnown(creditParty));
}

/** @throws RefusedError */
export function requireTwoAccounts(debit: string | undefined, credit: string | undefined): void {
  if (debit === undefined || debit !== credit) return;
  throw refusedError('businessRule', 'samePartiesError', 'debitParty and creditParty are the same account', {
    creditParty: debit.slice(0, 256),
  });
}

export const unsupportedCurrency = (currency: string): RefusedError =>
  refusedError('validation', 'currencyNotSupported', 'This wallet has no such currency', { currency });

export const unknownTransaction = (reference: string): RefusedError =>
  refusedError('identification', 'identifierError', 'There is no such transaction', {
    transactionReference: reference.slice(0, 256),
  });
