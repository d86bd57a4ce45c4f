import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { canonicalDecimal } from '../../contract/decimal-text.ts';
import type { Failure } from '../connector/failure-reason.ts';
import { unasked } from '../connector/json-reply.ts';
import type { JsonAnswer, JsonReply } from '../connector/json-reply.ts';
import type {
  Acknowledgement,
  PaymentOutcome,
  Recovery,
  ReversalOutcome,
  Unknown,
  UnknownWhy,
  WalletMoney,
} from '../connector/outcomes.ts';
import { readMomoError, reasonOfFailure, reasonOfRefusal } from './reasons.ts';
import type { MomoRequest } from './reasons.ts';

const numberOrText = Type.Union([Type.String(), Type.Number()]);

/** The answer about a payment or refund. The schema of the API has text where its examples have numbers. */
const statusAnswer = Type.Object({
  amount: numberOrText,
  currency: Type.String(),
  financialTransactionId: Type.Optional(numberOrText),
  externalId: Type.Optional(numberOrText),
  status: Type.String(),
  reason: Type.Optional(Type.Unknown()),
});

type StatusAnswer = Static<typeof statusAnswer>;

const unknown = (why: UnknownWhy, detail: string): Unknown => ({ kind: 'unknown', why, detail });

/**
 * Reads the answer to a request to pay or to refund. An accepted request has an empty answer with 202. MTN uses 500 also for
 * refusals, so the code decides and not the status.
 */
export function readAcknowledgement(
  request: MomoRequest,
  reply: JsonReply,
  providerReference: string,
): Acknowledgement {
  if (reply.kind !== 'answered') return reply;
  const { status } = reply;
  if (status === 202) {
    return reply.isEmpty
      ? { kind: 'accepted', providerReference, queryNow: false }
      : unknown('unreadable_answer', 'MTN accepted, with an unexpected body');
  }
  const error = errorOf(reply);
  if (status === 409 && error?.code === 'RESOURCE_ALREADY_EXIST') {
    return unknown('duplicate_request', 'MTN already has a request with this X-Reference-Id');
  }
  if (status === 400 && reply.isEmpty) {
    return refused('invalid_request', '400', 'MTN refused the request without a reason');
  }
  if (isRefusingStatus(status) && error !== undefined) {
    const reason = reasonOfRefusal(request, error);
    if (reason !== undefined) return refused(reason, error.code, error.text);
  }
  const isForbidden = status === 403 && error?.code === 'FORBIDDEN';
  if (isForbidden || ((status === 403 || status === 404) && hasStatusCode(reply, status))) {
    return refused(
      'merchant_config',
      String(status),
      'MTN denies this product, path or address: check the subscription key, base_url and the addresses that MTN allows',
    );
  }
  return unknownAfter(reply);
}

const refused = (reason: Failure['reason'], providerCode: string, providerText: string) =>
  ({ kind: 'refused', reason, providerCode, providerText }) as const;

const isRefusingStatus = (status: number): boolean => [400, 403, 404, 409].includes(status) || status === 500;

/** Whether MTN's gateway wrote the answer, and not another server: its errors repeat the status. */
const hasStatusCode = ({ body }: JsonAnswer, status: number): boolean =>
  body.ok && Value.Check(Type.Object({ statusCode: Type.Literal(status) }), body.json);

/** Reads the answer to `GET …/requesttopay/{X-Reference-Id}`. */
export function readPayment(reply: JsonReply, attemptId: string): PaymentOutcome {
  const read = readStatus(reply, attemptId);
  if ('kind' in read) return read;
  switch (read.status.toUpperCase()) {
    case 'PENDING':
      return { kind: 'pending' };
    case 'SUCCESSFUL': {
      const providerTransactionId = String(read.financialTransactionId ?? '');
      const money = moneyOf(read);
      if (providerTransactionId === '' || money === undefined) {
        return unknown('unreadable_answer', 'a successful payment has no transaction id or no amount');
      }
      return { kind: 'completed', providerTransactionId, ...money, fees: [] };
    }
    case 'FAILED': {
      const failure = failureOf('payment', read);
      return failure === 'expired' ? { kind: 'timed_out' } : failure;
    }
    default:
      return unknown('unrecognised_status', `the payment has the status ${read.status.slice(0, 64)}`);
  }
}

/** Reads the answer to `GET …/refund/{X-Reference-Id}`. */
export function readRefund(reply: JsonReply, reversalId: string): ReversalOutcome {
  const read = readStatus(reply, reversalId);
  if ('kind' in read) return read;
  switch (read.status.toUpperCase()) {
    case 'PENDING':
      return { kind: 'pending' };
    case 'SUCCESSFUL': {
      const money = moneyOf(read);
      if (money === undefined)
        return unknown('unreadable_answer', 'a successful refund has no readable amount');
      return { kind: 'completed', providerTransactionId: String(read.financialTransactionId ?? ''), money };
    }
    case 'FAILED': {
      const failure = failureOf('refund', read);
      if (failure === 'expired') return refused('provider_error', 'EXPIRED', '');
      return failure.kind === 'unknown' ? failure : { ...failure, kind: 'refused' };
    }
    default:
      return unknown('unrecognised_status', `the refund has the status ${read.status.slice(0, 64)}`);
  }
}

/** Reads whether MTN knows a request, from the answer to its query. Only MTN's own error means that it does not. */
export function readRecovery(reply: JsonReply, requestId: string, providerReference: string): Recovery {
  if (isNotFound(reply)) return { kind: 'not_found' };
  const read = readStatus(reply, requestId);
  return 'kind' in read ? read : { kind: 'found', providerReference };
}

function readStatus(reply: JsonReply, requestId: string): StatusAnswer | Unknown {
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'not_sent') return unasked(reply);
  if (isNotFound(reply)) return unknown('not_found', 'MTN does not know this X-Reference-Id');
  if (reply.status !== 200) return unknownAfter(reply);
  if (!reply.body.ok) return unknown('unreadable_answer', reply.body.problem);
  const { json } = reply.body;
  if (!Value.Check(statusAnswer, json)) {
    return unknown('unreadable_answer', 'the answer is not the status of a payment or refund');
  }
  if (json.externalId !== undefined && String(json.externalId) !== requestId) {
    return unknown('inconsistent', 'the answer concerns another externalId');
  }
  return json;
}

/** If the reason is the error of a call, another request with this id may have been paid. So an operator decides the payment. */
function failureOf(
  request: MomoRequest,
  { reason }: StatusAnswer,
): ({ kind: 'declined' } & Failure) | 'expired' | Unknown {
  const error = readMomoError(reason) ?? { code: '', text: '' };
  const ours = reasonOfFailure(request, error);
  if (ours === 'expired') return 'expired';
  if (ours === undefined) return unknown('unrecognised_code', `the payment failed with ${error.code}`);
  return { kind: 'declined', reason: ours, providerCode: error.code, providerText: error.text };
}

/** MTN may shorten an amount, such as 5.0 to 5, or write it as a number. */
function moneyOf({ amount, currency }: StatusAnswer): WalletMoney | undefined {
  const decimal = canonicalDecimal(String(amount));
  return decimal === undefined ? undefined : { amount: decimal, currency: currency.toUpperCase() };
}

const isNotFound = (reply: JsonReply): boolean =>
  reply.kind === 'answered' &&
  reply.status === 404 &&
  ['RESOURCE_NOT_FOUND', 'TRANSACTION_NOT_FOUND'].includes(errorOf(reply)?.code ?? '');

const errorOf = ({ body }: JsonAnswer) => (body.ok ? readMomoError(body.json) : undefined);

/** Why an answer decides nothing, by its status. */
export function unknownAfter(answer: JsonAnswer): Unknown {
  const error = errorOf(answer);
  const { status, retryAfterMs } = answer;
  const detail = `MTN answered ${status}${error === undefined ? '' : ` (${error.code})`}`;
  return {
    kind: 'unknown',
    why: reasonUnknown(status, error !== undefined),
    detail,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function reasonUnknown(status: number, hasCode: boolean): UnknownWhy {
  if (status >= 500) return 'server_error';
  if (status === 429) return 'rate_limited';
  if (status === 401) return 'unauthenticated';
  return hasCode && status >= 400 ? 'unrecognised_code' : 'unexpected_status';
}
