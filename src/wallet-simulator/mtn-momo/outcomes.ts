import { answeredWith, outcomeTable, paid, refusedWith, staysOpen } from '../payer-outcomes.ts';
import type { ErrorAnswer, PayerOutcome } from '../payer-outcomes.ts';

/** MTN answers its own failures, and also plain refusals, with 500. The code tells them apart. */
export const internalError: ErrorAnswer = {
  status: 500,
  body: { code: 'INTERNAL_PROCESSING_ERROR', message: 'An internal error occurred while processing.' },
};
const unavailable: ErrorAnswer = {
  status: 503,
  body: { code: 'SERVICE_UNAVAILABLE', message: 'Service temporarily unavailable, try again later.' },
};

const refusal = (code: string): ErrorAnswer => ({ status: 500, body: { code, message: code } });

/** MTN has no code for a wrong PIN, so it reports a refusal by the payer. */
const table = outcomeTable({
  insufficientFunds: 'NOT_ENOUGH_FUNDS',
  wrongPin: 'APPROVAL_REJECTED',
  declined: 'APPROVAL_REJECTED',
  expired: 'EXPIRED',
  payerNotFound: 'PAYER_NOT_FOUND',
  limitExceeded: 'PAYER_LIMIT_REACHED',
  accountBarred: 'SENDER_ACCOUNT_NOT_ACTIVE',
  undefinedStatus: 'UNDER_REVIEW',
  unavailable,
  internalError,
});

/** The test numbers of MTN's own sandbox, by their last two digits: `467331234NN`. */
const sandboxNumbers: ReadonlyMap<string, PayerOutcome> = new Map([
  ['50', refusedWith('MTN test number: failed', 'INTERNAL_PROCESSING_ERROR')],
  ['51', refusedWith('MTN test number: rejected', 'APPROVAL_REJECTED')],
  ['52', refusedWith('MTN test number: expired', 'EXPIRED', 'promptExpiry')],
  [
    '53',
    { ...paid, summary: 'MTN test number: ongoing', ending: { status: 'completed', after: 'slowAnswer' } },
  ],
  ['54', staysOpen('MTN test number: delayed', false)],
  ['55', refusedWith('MTN test number: payer not found', 'PAYER_NOT_FOUND')],
  ['56', refusedWith('MTN test number: payee not allowed to receive', 'PAYEE_NOT_ALLOWED_TO_RECEIVE')],
  ['57', answeredWith('MTN test number: not allowed', refusal('NOT_ALLOWED'))],
  [
    '58',
    answeredWith(
      'MTN test number: not allowed target environment',
      refusal('NOT_ALLOWED_TARGET_ENVIRONMENT'),
    ),
  ],
  ['59', answeredWith('MTN test number: invalid callback URL host', refusal('INVALID_CALLBACK_URL_HOST'))],
  ['60', answeredWith('MTN test number: invalid currency', refusal('INVALID_CURRENCY'))],
  ['61', answeredWith('MTN test number: internal processing error', internalError)],
  ['62', answeredWith('MTN test number: service unavailable', unavailable)],
  ['63', refusedWith('MTN test number: could not perform transaction', 'COULD_NOT_PERFORM_TRANSACTION')],
]);

/** Uganda, Ghana, and Ethiopia, where MTN is not, for merchants who test with Ethiopian numbers. */
const tableNumber = /^(?:25677|23324|25197)00000([0-9]{2})$/;
const sandboxNumber = /^467331234([0-9]{2})$/;

/** The outcome that a payer's number selects; undefined when it selects none. Digits only. */
export function outcomeOfNumber(payer: string): PayerOutcome | undefined {
  const own = sandboxNumber.exec(payer)?.[1];
  if (own !== undefined) return sandboxNumbers.get(own);
  const index = tableNumber.exec(payer)?.[1];
  return index === undefined ? undefined : table[Number(index)];
}
