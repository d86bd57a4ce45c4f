import { Value } from '@sinclair/typebox/value';
import type { Failure, FailureReason } from '../connector/failure-reason.ts';
import type { UnknownWhy } from '../connector/outcomes.ts';
import { maskProviderText } from '../connector/mask-text.ts';
import { errorParameterSchema, errorSchema } from './messages.ts';

/** An error of the contract, with category and code in lower case for comparisons. */
export interface GsmaError {
  readonly category: string;
  readonly code: string;
  readonly text: string;
  /** The parameter `providerCode`, in lower case; empty when there is none. */
  readonly providerCode: string;
}

/** The meaning of an error for the payment. */
export type ErrorVerdict =
  | ({ readonly kind: 'declined' } & Failure)
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'unknown'; readonly why: UnknownWhy; readonly detail: string };

/**
 * Finds the error in an answer: the answer itself, or its `error` or `errorReference`. The contract's prose and its
 * schema spell names differently, so case is ignored. Undefined when there is none.
 */
export function readError(answer: unknown): GsmaError | undefined {
  const fields = lowerCaseNames(answer);
  if (fields === undefined) return undefined;
  const nested = lowerCaseNames(fields['error']) ?? lowerCaseNames(fields['errorreference']);
  const error = nested ?? fields;
  if (!Value.Check(errorSchema, error)) return undefined;
  return {
    category: error.errorcategory.toLowerCase(),
    code: error.errorcode.toLowerCase(),
    text: maskProviderText(error.errordescription ?? ''),
    providerCode: findParameter(error.errorparameters ?? [], 'providercode').toLowerCase(),
  };
}

/**
 * Finds the error in the metadata of a failed transaction, which has no field for one. The profile uses the usual names there.
 * Undefined when there is none.
 */
export function readErrorMetadata(
  metadata: readonly { key: string; value: string }[],
): GsmaError | undefined {
  const code = findParameter(metadata, 'errorcode').toLowerCase();
  if (code === '') return undefined;
  return {
    category: findParameter(metadata, 'errorcategory').toLowerCase(),
    code,
    text: findParameter(metadata, 'errordescription'),
    providerCode: findParameter(metadata, 'providercode').toLowerCase(),
  };
}

/** Properties by their names in lower case. Null counts as absent and is left out. */
function lowerCaseNames(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, content]) => content !== null)
      .map(([name, content]) => [name.toLowerCase(), content]),
  );
}

function findParameter(parameters: readonly unknown[], key: string): string {
  for (const parameter of parameters) {
    const fields = lowerCaseNames(parameter);
    if (Value.Check(errorParameterSchema, fields) && fields.key.toLowerCase() === key) {
      return maskProviderText(fields.value);
    }
  }
  return '';
}

/** Categories in which an acknowledgement may definitely refuse: those that the contract answers with a 4xx. */
const refusingCategories: ReadonlySet<string> = new Set([
  'businessrule',
  'validation',
  'authorisation',
  'identification',
]);

/** Every code of the contract that decides a payment, in lower case, and our reason for it. */
const reasons: ReadonlyMap<string, FailureReason> = new Map<string, FailureReason>([
  ['genericerror', 'provider_error'],
  ['dailyvolumelimitexceeded', 'limit_exceeded'],
  ['dailyvaluelimitexceeded', 'limit_exceeded'],
  ['weeklyvolumelimitexceeded', 'limit_exceeded'],
  ['weeklyvaluelimitexceeded', 'limit_exceeded'],
  ['monthlyvolumelimitexceeded', 'limit_exceeded'],
  ['monthlyvaluelimitexceeded', 'limit_exceeded'],
  ['accountmaxtotalvolumeexceeded', 'limit_exceeded'],
  ['accountmaxtotalvalueexceeded', 'limit_exceeded'],
  ['lessthantransactionminvalue', 'limit_exceeded'],
  ['greaterthantransactionmaxvalue', 'limit_exceeded'],
  ['maxbalanceexceeded', 'limit_exceeded'],
  ['samepartieserror', 'invalid_request'],
  ['insufficientfunds', 'insufficient_funds'],
  ['incorrectstate', 'account_state'],
  ['underpaymentnotallowed', 'invalid_request'],
  ['overpaymentnotallowed', 'invalid_request'],
  ['transactiontypeerror', 'merchant_config'],
  ['nomandateauthority', 'merchant_config'],
  ['linkviolation', 'account_state'],
  ['countryoforiginnotpermitted', 'account_state'],
  ['nationalitynotpermitted', 'account_state'],
  ['iddocumentnotsupported', 'account_state'],
  ['issuingcountrynotsupported', 'account_state'],
  ['quotehasexpired', 'invalid_request'],
  ['identifiererror', 'payer_not_found'],
  ['lengtherror', 'invalid_request'],
  ['formaterror', 'invalid_request'],
  ['negativevalue', 'invalid_request'],
  ['currencynotsupported', 'invalid_request'],
  ['mandatoryvaluenotsupplied', 'invalid_request'],
  ['invalidoffset', 'invalid_request'],
  ['requestdeclined', 'declined_by_payer'],
  ['servicingpartyauthorisationerror', 'merchant_config'],
  ['requestingpartyauthorisationerror', 'merchant_config'],
]);

/** Codes that concern the transport of the request, not the payment. */
const inconclusive: ReadonlyMap<string, UnknownWhy> = new Map<string, UnknownWhy>([
  ['duplicaterequest', 'duplicate_request'],
  ['ratelimiterror', 'rate_limited'],
  ['clientauthorisationerror', 'unauthenticated'],
]);

/** The meaning of an error in an acknowledgement with 4xx: a refusal if both its code and its category can refuse. */
export function judgeAcknowledgementError(error: GsmaError): ErrorVerdict {
  if (refusingCategories.has(error.category)) return judgeError(error);
  return {
    kind: 'unknown',
    why: inconclusive.get(error.code) ?? 'unrecognised_code',
    detail: `the wallet answered with the error ${nameOf(error)}`,
  };
}

/**
 * The meaning of the error in a request state that a query found to be failed. The category does not matter. An unknown code,
 * or one that concerns the transport, leaves the outcome open.
 */
export const judgeFailedState = (error: GsmaError): ErrorVerdict => judgeError(error);

/** The error's full name, for logs and for the operator. */
export function nameOf({ category, code, providerCode }: GsmaError): string {
  return [category, code, providerCode]
    .filter((part) => part !== '')
    .join('/')
    .slice(0, 256);
}

function judgeError(error: GsmaError): ErrorVerdict {
  const reason = refine(error, reasons.get(error.code));
  if (reason === 'timed_out') return { kind: 'timed_out' };
  if (reason !== undefined) {
    return { kind: 'declined', reason, providerCode: nameOf(error), providerText: error.text };
  }
  return {
    kind: 'unknown',
    why: inconclusive.get(error.code) ?? 'unrecognised_code',
    detail: `the wallet answered with the error ${nameOf(error)}`,
  };
}

/** The profile's provider codes, which refine a general code when the contract has no specific one. */
function refine(
  error: GsmaError,
  reason: FailureReason | undefined,
): FailureReason | 'timed_out' | undefined {
  if (error.code === 'genericerror') {
    if (error.providerCode === 'expired') return 'timed_out';
    return error.category === 'validation' ? 'invalid_request' : reason;
  }
  if (error.code === 'requestdeclined' && error.providerCode === 'wrongpin') return 'wrong_pin';
  return reason;
}
