import {
  authenticatedPayer,
  findAccount,
  isMerchantAccount,
  merchantParty,
  payerMsisdn,
  subscriberAccount,
} from './accounts.ts';
import type { Party } from './accounts.ts';
import type { AuthorisationCodes } from './authorisation-codes.ts';
import { ordinaryOutcome, outcomeOfNumber } from './outcomes.ts';
import type { Outcome } from './outcomes.ts';
import { refusedError } from './refusal.ts';
import { payableAmount, requireParties } from './request-checks.ts';
import type { PaymentBody } from './schemas.ts';
import type { PlannedTransfer } from './transaction.ts';

/** A payment to a merchant, before it has a reference. */
export interface PlannedPayment extends PlannedTransfer {
  readonly type: 'merchantpay';
  readonly originalReference: undefined;
  readonly outcome: Outcome;
  /** A code of the payer pays at once. A number that selects no outcome leaves the payment to a person or to the ordinary outcome. */
  readonly decidedBy: 'code' | 'number' | 'payer';
}

/**
 * The payment that a request asks for. It redeems the one-time code, if there is one.
 * @throws RefusedError
 */
export function planPayment(wallet: string, codes: AuthorisationCodes, body: PaymentBody): PlannedPayment {
  requireParties(body);
  const amount = payableAmount(body.amount, body.currency);
  const creditParty = body.creditParty ?? [merchantParty];
  const { currency, oneTimeCode } = body;
  const shared = {
    type: 'merchantpay',
    creditAccount: payee(creditParty),
    creditParty,
    amount,
    currency,
    originalReference: undefined,
  } as const;
  if (oneTimeCode !== undefined && oneTimeCode !== '') {
    const debitAccount = codes.redeem(oneTimeCode, { ...body, amount, creditParty });
    const [key = '', value = ''] = debitAccount.split('@');
    const debitParty = body.debitParty ?? [{ key, value }];
    return { ...shared, debitAccount, debitParty, outcome: ordinaryOutcome, decidedBy: 'code' };
  }
  const debitParty = body.debitParty ?? [authenticatedPayer];
  const msisdn = payerMsisdn(debitParty, 'debitParty');
  const fixed = outcomeOfNumber(wallet, msisdn);
  return {
    ...shared,
    debitAccount: subscriberAccount(msisdn),
    debitParty,
    outcome: fixed ?? ordinaryOutcome,
    decidedBy: fixed === undefined ? 'payer' : 'number',
  };
}

function payee(parties: readonly Party[]): string {
  const account = findAccount(parties, 'creditParty');
  if (isMerchantAccount(account)) return account;
  throw refusedError(
    'businessRule',
    'transactionTypeError',
    'A merchant payment goes to a merchant account',
    { creditParty: 'accountid' },
  );
}
