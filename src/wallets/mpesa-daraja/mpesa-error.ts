import { Value } from '@sinclair/typebox/value';
import { Type } from '@sinclair/typebox';
import { unasked } from '../connector/json-reply.ts';
import type { JsonAnswer, JsonReply } from '../connector/json-reply.ts';
import type { Failure, FailureReason } from '../connector/failure-reason.ts';
import { maskProviderText } from '../connector/mask-text.ts';
import type { Unknown, UnknownWhy } from '../connector/outcomes.ts';

/** An error object of M-Pesa, from any of its layers. */
export interface MpesaError {
  readonly code: string;
  /** One line with phone numbers masked. */
  readonly text: string;
}

const envelope = Type.Object({
  errorCode: Type.Union([Type.String(), Type.Number()]),
  errorMessage: Type.Optional(Type.String()),
});
/** The gateway in front of M-Pesa has errors of its own. */
const fault = Type.Object({
  fault: Type.Object({
    faultstring: Type.String(),
    detail: Type.Optional(Type.Object({ errorcode: Type.Optional(Type.String()) })),
  }),
});
/** The token endpoint of M-Pesa Ethiopia. */
const ethiopian = Type.Object({
  resultCode: Type.Union([Type.String(), Type.Number()]),
  resultDesc: Type.String(),
});

/** The error object in an answer; undefined when there is none. */
export function readMpesaError(json: unknown): MpesaError | undefined {
  if (Value.Check(envelope, json)) return mpesaError(String(json.errorCode), json.errorMessage ?? '');
  if (Value.Check(fault, json)) return mpesaError(json.fault.detail?.errorcode ?? '', json.fault.faultstring);
  if (Value.Check(ethiopian, json)) return mpesaError(String(json.resultCode), json.resultDesc);
  return undefined;
}

const mpesaError = (code: string, text: string): MpesaError => ({
  code: maskProviderText(code),
  text: maskProviderText(text),
});

const errorOf = (answer: JsonAnswer): MpesaError | undefined =>
  answer.body.ok ? readMpesaError(answer.body.json) : undefined;

/** Each product has its own code for a refused access token, so the text decides as well. */
const refusedTokenCodes: ReadonlySet<string> = new Set(['404.001.03', '401.002.01', '401.003.01']);

/** Whether the app lacks the product of the request. M-Pesa then calls the access token invalid, but a new one changes nothing. */
const lacksProduct = ({ text }: MpesaError): boolean => /no apiproduct match found/i.test(text);

/** Whether the request was not processed because its access token has expired or was replaced. */
export function isTokenRefused(reply: JsonReply): boolean {
  if (reply.kind !== 'answered' || reply.status < 400 || reply.status >= 500) return false;
  const error = errorOf(reply);
  return (
    error !== undefined &&
    !lacksProduct(error) &&
    (refusedTokenCodes.has(error.code) || /invalid access token/i.test(error.text))
  );
}

/**
 * An answer that refuses even a new access token, for example because another program uses the same app. M-Pesa has not processed
 * the request, so it may be sent again. Undefined for every other answer.
 */
export function readRefusedToken(reply: JsonReply): Extract<JsonReply, { kind: 'not_sent' }> | undefined {
  if (!isTokenRefused(reply)) return undefined;
  return { kind: 'not_sent', why: 'no_token', detail: unknownAfter(reply).detail };
}

/** Whether the answer says that the payment is still being processed, in its older form. */
export const saysStillProcessing = (answer: JsonAnswer): boolean => {
  const error = errorOf(answer);
  return error?.code === '500.001.1001' && /being processed/i.test(error.text);
};

/**
 * The definite refusal of a request, by its code and text; undefined for every other answer. Some codes are used for
 * refusals and for internal errors, so that only their text tells them apart.
 */
export function readRefusal(answer: JsonAnswer): Failure | undefined {
  const error = errorOf(answer);
  if (error === undefined || answer.status < 400 || answer.status === 429) return undefined;
  const reason = isTokenRefused(answer) ? undefined : reasonOf(error);
  return reason === undefined ? undefined : { reason, providerCode: error.code, providerText: error.text };
}

function reasonOf(error: MpesaError): FailureReason | undefined {
  const { code, text } = error;
  if (lacksProduct(error)) return 'merchant_config';
  switch (code) {
    case '400.002.02':
    case '400.002.05':
      return reasonOfBadField(text);
    case '404.001.01':
    case '405.001':
      return 'merchant_config';
    case '500.001.1001':
      if (/merchant does not exist|wrong credentials/i.test(text)) return 'merchant_config';
      return /unable to lock subscriber/i.test(text) ? 'payer_busy' : undefined;
    default:
      return undefined;
  }
}

/** Fields that the operator configures, and the payer's number, are not the fault of the request. */
function reasonOfBadField(text: string): FailureReason {
  if (/phone ?number|partya|msisdn/i.test(text)) return 'payer_not_found';
  const configured =
    /shortcode|partyb|callback|resulturl|queuetimeout|transactiontype|initiator|credential|password/i;
  return configured.test(text) ? 'merchant_config' : 'invalid_request';
}

/** An `unknown` for a reason found in an answer that is otherwise understood. */
export const unknown = (why: UnknownWhy, detail: string): Unknown => ({ kind: 'unknown', why, detail });

/** Why a request has no definite answer. */
export function unknownAfter(reply: JsonReply): Unknown {
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'not_sent') return unasked(reply);
  const { why, detail } = judgeAnswer(reply);
  return {
    kind: 'unknown',
    why,
    detail,
    ...(reply.retryAfterMs === undefined ? {} : { retryAfterMs: reply.retryAfterMs }),
  };
}

function judgeAnswer(answer: JsonAnswer): { readonly why: UnknownWhy; readonly detail: string } {
  const { status, body } = answer;
  const error = errorOf(answer);
  const suffix = error === undefined ? '' : ` (${`${error.code} ${error.text}`.trim()})`;
  const detail = `the wallet answered ${status}${suffix}`;
  if (status === 429 || (error !== undefined && isRateLimit(error))) return { why: 'rate_limited', detail };
  if (isTokenRefused(answer)) return { why: 'unauthenticated', detail };
  if (status >= 500) return { why: 'server_error', detail };
  if (status === 401) return { why: 'unauthenticated', detail };
  if (error !== undefined) return { why: 'unrecognised_code', detail };
  if (status < 200 || status >= 300) return { why: 'unexpected_status', detail };
  return body.ok ? { why: 'unexpected_status', detail } : { why: 'unreadable_answer', detail: body.problem };
}

const isRateLimit = ({ code, text }: MpesaError): boolean =>
  code === '500.003.02' ||
  code === '500.003.03' ||
  /spike ?arrest|quota/i.test(code) ||
  /spike arrest|quota violation|system is busy/i.test(text);
