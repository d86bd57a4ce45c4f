import { canonicalDecimal } from '../../contract/decimal-text.ts';
import type { Failure } from '../connector/failure-reason.ts';
import type { PaymentRequest, ReversalRequest } from '../connector/wallet-connector.ts';
import { referenceId } from './reference-id.ts';

/** A body to send, or why the request does not fit the API. */
export type WrittenRequest =
  | { readonly ok: true; readonly body: string }
  | { readonly ok: false; readonly failure: Failure };

/** The newer of the two documented limits. */
const maxNoteLength = 128;

/** The body of a request to pay. */
export function writePayment(request: PaymentRequest, currencies: readonly string[]): WrittenRequest {
  const { payerPhone, currency } = request;
  if (!currencies.includes(currency)) {
    return refusedRequest('merchant_config', `this wallet is not configured for ${currency}`);
  }
  const amount = canonicalDecimal(request.amount);
  if (amount === undefined || amount === '0')
    return refusedRequest('invalid_request', 'the amount is not positive');
  const msisdn = payerPhone.replace(/^\+/, '');
  if (!/^[1-9][0-9]{7,14}$/.test(msisdn))
    return refusedRequest('invalid_request', 'the payer has no valid phone number');
  return writeRequest({
    amount,
    currency,
    externalId: request.attemptId,
    payer: { partyIdType: 'MSISDN', partyId: msisdn },
    payerMessage: noteText(request.description, 'Payment'),
    payeeNote: noteText(request.description, 'Payment'),
  });
}

/** The body of a refund. MTN names the payment by our X-Reference-Id, not by its transaction. */
export function writeRefund(request: ReversalRequest): WrittenRequest {
  const amount = canonicalDecimal(request.amount);
  if (amount === undefined || amount === '0')
    return refusedRequest('invalid_request', 'the amount is not positive');
  return writeRequest({
    amount,
    currency: request.currency,
    externalId: request.reversalId,
    payerMessage: noteText(request.description, 'Refund'),
    payeeNote: noteText(request.description, 'Refund'),
    referenceIdToRefund: referenceId(request.attemptId),
  });
}

/** MTN refuses apostrophes, other special characters and empty notes. Characters are cut whole. */
function noteText(text: string, otherwise: string): string {
  const plain = text.replace(/[^\p{L}\p{M}\p{N} .,:-]+/gu, ' ').replace(/ {2,}/g, ' ');
  let cut = '';
  for (const character of plain.trim()) {
    if (cut.length + character.length > maxNoteLength) break;
    cut += character;
  }
  return cut.trim() === '' ? otherwise : cut.trim();
}

const writeRequest = (body: object): WrittenRequest => ({ ok: true, body: JSON.stringify(body) });

const refusedRequest = (reason: Failure['reason'], providerText: string): WrittenRequest => ({
  ok: false,
  failure: { reason, providerCode: '', providerText },
});
