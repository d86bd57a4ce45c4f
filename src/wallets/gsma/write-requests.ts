import { Value } from '@sinclair/typebox/value';
import type { TSchema } from '@sinclair/typebox';
import type { Failure } from '../connector/failure-reason.ts';
import { canonicalDecimal } from '../../contract/decimal-text.ts';
import type { PaymentRequest, ReversalRequest } from '../connector/wallet-connector.ts';
import type { GsmaSettings } from './gsma-settings.ts';
import { paymentBodySchema, reversalBodySchema } from './messages.ts';
import type { PaymentBody, ReversalBody } from './messages.ts';
import { isTransactionId } from './provider-reference.ts';

/** A body to send, or why the request does not fit the contract. */
export type WrittenRequest =
  | { readonly ok: true; readonly body: string }
  | { readonly ok: false; readonly failure: Failure };

const maxDescriptionLength = 160;

/** The body of a payment request. */
export function writePayment(settings: GsmaSettings, request: PaymentRequest): WrittenRequest {
  if (!settings.currencies.includes(request.currency)) {
    return invalidRequest(`this wallet is not configured for ${request.currency}`, 'merchant_config');
  }
  const body: PaymentBody = {
    amount: canonicalDecimal(request.amount) ?? request.amount,
    currency: request.currency,
    debitParty: [{ key: 'msisdn', value: msisdn(request.payerPhone) }],
    creditParty: [{ key: settings.payee.type, value: settings.payee.id }],
    requestingOrganisationTransactionReference: request.attemptId,
    ...descriptionOf(request.description),
    requestDate: request.requestedAt.toISOString(),
    ...(request.channel === 'wallet_app' ? { subType: 'wallet' as const } : {}),
  };
  return writeRequest(paymentBodySchema, body);
}

/** The body of a reversal request. */
export function writeReversal(request: ReversalRequest): WrittenRequest {
  if (!isTransactionId(request.providerTransactionId)) {
    return invalidRequest('the transaction to be reversed has no usable reference', 'invalid_request');
  }
  const body: ReversalBody = {
    type: 'reversal',
    amount: canonicalDecimal(request.amount) ?? request.amount,
    currency: request.currency,
    requestingOrganisationTransactionReference: request.reversalId,
    ...descriptionOf(request.description),
    requestDate: request.requestedAt.toISOString(),
  };
  return writeRequest(reversalBodySchema, body);
}

/** ITU-T E.164 without its plus, the MSISDN of mobile networks. */
const msisdn = (phone: string): string => phone.replace(/^\+/, '');

/** A single line, cut between characters and never within one. */
function descriptionOf(description: string): { descriptionText?: string } {
  const line = description.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  let text = '';
  for (const character of line) {
    if (text.length + character.length > maxDescriptionLength) break;
    text += character;
  }
  return text === '' ? {} : { descriptionText: text };
}

function writeRequest(schema: TSchema, body: PaymentBody | ReversalBody): WrittenRequest {
  const error = Value.Errors(schema, body).First();
  if (error === undefined) return { ok: true, body: JSON.stringify(body) };
  return invalidRequest(
    `${error.path.slice(1)} cannot be sent to this wallet: ${error.message}`,
    'invalid_request',
  );
}

const invalidRequest = (providerText: string, reason: Failure['reason']): WrittenRequest => ({
  ok: false,
  failure: { reason, providerCode: '', providerText },
});
