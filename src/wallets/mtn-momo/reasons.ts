import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { FailureReason } from '../connector/failure-reason.ts';
import { maskProviderText } from '../connector/mask-text.ts';

/** A code of MTN, in upper case, and its explanation. */
export interface MomoError {
  readonly code: string;
  readonly text: string;
}

const errorObject = Type.Object({ code: Type.String(), message: Type.Optional(Type.String()) });

/** The error in an answer, or the reason of a failed payment, which is an object or only a code. Undefined if there is none. */
export function readMomoError(value: unknown): MomoError | undefined {
  if (typeof value === 'string' && value !== '') return { code: normalCode(value), text: '' };
  if (!Value.Check(errorObject, value)) return undefined;
  return { code: normalCode(value.code), text: maskProviderText(value.message ?? '') };
}

const normalCode = (code: string): string => maskProviderText(code).toUpperCase();

/** A payment whose approval window ended. */
const expiredReasons: ReadonlySet<string> = new Set(['EXPIRED', 'COULD_NOT_PERFORM_TRANSACTION']);

/** The reasons of FAILED that the documentation lists, and ours for a payment. */
const reasons: ReadonlyMap<string, FailureReason> = new Map<string, FailureReason>([
  ['NOT_ENOUGH_FUNDS', 'insufficient_funds'],
  ['LOW_BALANCE_OR_PAYEE_LIMIT_REACHED_OR_NOT_ALLOWED', 'insufficient_funds'],
  ['PAYER_LIMIT_REACHED', 'limit_exceeded'],
  ['PAYEE_LIMIT_REACHED', 'limit_exceeded'],
  ['PAYER_NOT_FOUND', 'payer_not_found'],
  ['PAYEE_NOT_FOUND', 'merchant_config'],
  ['PAYEE_NOT_ALLOWED_TO_RECEIVE', 'merchant_config'],
  ['NOT_ALLOWED', 'merchant_config'],
  ['NOT_ALLOWED_TARGET_ENVIRONMENT', 'merchant_config'],
  ['INVALID_CALLBACK_URL_HOST', 'merchant_config'],
  ['INVALID_CURRENCY', 'merchant_config'],
  ['APPROVAL_REJECTED', 'declined_by_payer'],
  ['PAYMENT_NOT_APPROVED', 'declined_by_payer'],
  ['TRANSACTION_CANCELED', 'declined_by_payer'],
  ['SENDER_ACCOUNT_NOT_ACTIVE', 'account_state'],
  ['VALIDATION_ERROR', 'invalid_request'],
  ['INTERNAL_PROCESSING_ERROR', 'provider_error'],
  ['SERVICE_UNAVAILABLE', 'provider_error'],
]);

/** A request that moves money: to the merchant or back to the payer. */
export type MomoRequest = 'payment' | 'refund';

/** The codes with another meaning for a refund. Its payee is the payer of the payment, and its payer is the merchant. */
const reasonsOfRefund: ReadonlyMap<string, FailureReason> = new Map<string, FailureReason>([
  ['PAYEE_NOT_FOUND', 'payer_not_found'],
  ['PAYEE_NOT_ALLOWED_TO_RECEIVE', 'account_state'],
  ['PAYER_NOT_FOUND', 'merchant_config'],
  ['SENDER_ACCOUNT_NOT_ACTIVE', 'merchant_config'],
]);

const reasonOf = (request: MomoRequest, code: string): FailureReason | undefined =>
  (request === 'refund' ? reasonsOfRefund.get(code) : undefined) ?? reasons.get(code);

/** Codes that decide nothing when they answer a request, although they are reasons of a failed payment. */
const undecidedAtRequest: ReadonlySet<string> = new Set(['INTERNAL_PROCESSING_ERROR', 'SERVICE_UNAVAILABLE']);

/** Our reason for a code in the answer to a request; undefined if the code does not refuse it. */
export const reasonOfRefusal = (request: MomoRequest, { code }: MomoError): FailureReason | undefined =>
  undecidedAtRequest.has(code) ? undefined : reasonOf(request, code);

/** The errors of a request that are no reason of a failed payment: they concern another request. */
const errorsOfCalls: ReadonlySet<string> = new Set([
  'RESOURCE_NOT_FOUND',
  'TRANSACTION_NOT_FOUND',
  'RESOURCE_ALREADY_EXIST',
]);

/**
 * Our reason for a payment or refund with status FAILED. FAILED is final, even for a code that is not documented. Undefined for the error of
 * a call, which is not expected as a reason.
 */
export const reasonOfFailure = (
  request: MomoRequest,
  { code }: MomoError,
): FailureReason | 'expired' | undefined => {
  if (expiredReasons.has(code)) return 'expired';
  return errorsOfCalls.has(code) ? undefined : (reasonOf(request, code) ?? 'provider_error');
};
