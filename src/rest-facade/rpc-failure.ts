import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../gen/google/rpc/error_details_pb.js';
import type { ErrorDetail } from '../merchant-api/error-envelope.ts';
import { isErrorReason } from '../runtime/rpc/error-reason.ts';
import type { ErrorReason } from '../runtime/rpc/error-reason.ts';
import { reasonOf, retryAfterSecondsOf } from '../runtime/rpc/rpc-error.ts';
import { RequestFailure } from './request-failure.ts';
import type { Failure } from './request-failure.ts';

const internal = (): Failure => ({ kind: 'internal' });
const forbidden = (): Failure => ({ kind: 'forbidden' });
/** Core says what is wrong with the order of this order_number; `issue` is for a core that does not. */
const aboutOrderNumber =
  (issue: string) =>
  (error: ConnectError): Failure => {
    const told = violationsOf(error).filter(({ field }) => field === 'order_number');
    return { kind: 'invalid', details: told.length > 0 ? told : [{ field: 'order_number', issue }] };
  };

/**
 * What a merchant is told for every reason core can give; a reason without an entry does not compile. Internal: the
 * facade, not the merchant, has done something wrong, or core cannot do its work.
 */
const failures: Readonly<Record<ErrorReason, (error: ConnectError) => Failure>> = {
  INVALID_FIELDS: (error) => {
    const details = violationsOf(error);
    return details.length > 0 && details.every(isMerchants) ? { kind: 'invalid', details } : internal();
  },
  ORDER_NUMBER_TAKEN: aboutOrderNumber(
    'has been used before, with other values or for an order that has ended',
  ),
  PAYMENT_IN_PROGRESS: aboutOrderNumber('has another payment in progress; wait until it has ended'),
  MONEY_NOT_RETURNED: aboutOrderNumber(
    'belongs to an order whose earlier payment took money that is not back with the payer',
  ),
  ORDER_NOT_PAYABLE: aboutOrderNumber('belongs to an order that can no longer be paid'),
  ORDER_NOT_FOUND: () => ({ kind: 'not_found' }),
  MERCHANT_SUSPENDED: forbidden,
  PRODUCTION_NOT_ACTIVATED: forbidden,
  OVERLOADED: tooManyRequests,
  PHONE_BUSY: (error) => ({ ...tooManyRequests(error), limit: 'open_prompts' }),
  PHONE_LIMIT: (error) => ({ ...tooManyRequests(error), limit: 'recent_prompts' }),
  INVALID_API_KEY: internal,
  INVALID_SERVICE_TOKEN: internal,
  ROLE_NOT_ALLOWED: internal,
  MERCHANT_NOT_FOUND: internal,
  API_KEY_NOT_FOUND: internal,
  SYMBOL_NOT_FOUND: internal,
  API_KEY_NOT_USABLE: internal,
  TOO_MANY_API_KEYS: internal,
  CALL_CANCELLED: internal,
  DEADLINE_EXCEEDED: internal,
  DATABASE_UNAVAILABLE: internal,
  CORE_UNAVAILABLE: internal,
  SERVER_DRAINING: internal,
  PAYMENT_ATTEMPT_NOT_FOUND: internal,
  STRAY_PAYMENT_NOT_FOUND: internal,
  RECONCILIATION_NOT_FOUND: internal,
  CHECKOUT_NOT_FOUND: internal,
  LEASE_LOST: internal,
  REVERSAL_NOT_REFUSED: internal,
  NO_NEXT_SECRET: internal,
  REDELIVERY_RUNNING: internal,
  DELIVERY_NOT_FOUND: internal,
  REDELIVERY_NOT_FOUND: internal,
  ENDPOINT_NOT_FOUND: internal,
  USER_NOT_FOUND: internal,
  LINK_NOT_USABLE: internal,
  API_REQUEST_NOT_FOUND: internal,
  ALREADY_A_MEMBER: internal,
  WRONG_CREDENTIALS: internal,
  WRONG_CODE: internal,
  TOTP_NOT_ENABLED: internal,
  TOTP_NOT_BEGUN: internal,
  TOTP_ENABLED: internal,
  LAST_OWNER: internal,
  LAST_OPERATOR: internal,
  ACCOUNT_HELP_NOT_FOUND: internal,
  NOT_AN_OPERATOR: internal,
  SECOND_OPERATOR_NEEDED: internal,
  OPERATOR_TOO_NEW: internal,
  MAILED_TO_USER: internal,
  CHANGED_MEANWHILE: internal,
  TOO_MANY_TRIES: internal,
  CHECKOUT_IN_USE: internal,
  INTERNAL: internal,
};

/** What a merchant is told when a call to core threw. Never anything core did not mean for merchants. */
export function failureOfRpc(thrown: unknown): RequestFailure {
  if (!(thrown instanceof ConnectError)) return new RequestFailure(internal(), 'UNEXPECTED', thrown);
  const reason = reasonOf(thrown);
  if (reason === undefined)
    return new RequestFailure(internal(), `RPC_${Code[thrown.code].toUpperCase()}`, thrown);
  return new RequestFailure(failureOfReason(reason, thrown), reason, thrown);
}

function failureOfReason(reason: string, error: ConnectError): Failure {
  if (isErrorReason(reason)) return failures[reason](error);
  // A newer core may have limits this facade has not heard of. Their meaning is in the status code.
  return error.code === Code.ResourceExhausted ? tooManyRequests(error) : internal();
}

/** The problems of a google.rpc.BadRequest. */
function violationsOf(error: ConnectError): ErrorDetail[] {
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, description }) => ({ field, issue: description }));
}

/** Fields that the facade fills in: a problem with one of them is not the merchant's. */
const isMerchants = ({ field }: ErrorDetail): boolean =>
  !['merchant_id', 'environment', 'payment_type', 'validate_only', 'order_id', ''].includes(field);

function tooManyRequests(error: ConnectError): Extract<Failure, { kind: 'too_many_requests' }> {
  return { kind: 'too_many_requests', retryAfterSeconds: retryAfterSecondsOf(error) ?? 1 };
}
