import { formatAmount } from '../amount.ts';
import type { Payment } from '../payment.ts';

/** The status that queries return. */
export function shownStatus({ state, outcome }: Payment): string {
  if (state.status === 'completed') return 'SUCCESSFUL';
  if (state.status === 'failed') return 'FAILED';
  return (outcome.ending.status === 'open' ? outcome.ending.shownAs : undefined) ?? 'PENDING';
}

/** The answer to a query, and the body of a callback. It never has the X-Reference-Id. */
export function statusObject(payment: Payment, status = shownStatus(payment)): object {
  const { state, details, reference } = payment;
  return {
    ...(status === 'SUCCESSFUL' ? { financialTransactionId: reference } : {}),
    ...details,
    amount: formatAmount(payment.amount),
    currency: payment.currency,
    ...(payment.kind === 'refund' ? { payee: { partyIdType: 'MSISDN', partyId: payment.payer } } : {}),
    status,
    // The documentation has an object here, and the live API a plain code.
    ...(status === 'FAILED' ? { reason: state.status === 'failed' ? state.code : 'APPROVAL_REJECTED' } : {}),
  };
}
