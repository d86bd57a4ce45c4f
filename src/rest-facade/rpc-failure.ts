import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../gen/google/rpc/error_details_pb.js';
import type { ErrorDetail } from '../merchant-api/error-envelope.ts';
import { errorReasons, isErrorReason } from '../contract/error-reason.ts';
import type { ErrorReason } from '../contract/error-reason.ts';
import { reasonOf, retryAfterSecondsOf } from '../platform/rpc/rpc-error.ts';
import { RequestFailure } from './request-failure.ts';
import type { Failure, FailureReason } from './request-failure.ts';

const internal = (): Failure => ({ kind: 'internal' });
const forbidden = (): Failure => ({ kind: 'forbidden' });
/** Core's text about the object with this number. `issue` is the text for a core without one. */
const aboutNumber =
  (name: 'order_number' | 'refund_number') =>
  (issue: string) =>
  (error: ConnectError): Failure => {
    const violations = violationsOf(error).filter(({ field }) => field === name);
    return { kind: 'invalid', details: violations.length > 0 ? violations : [{ field: name, issue }] };
  };
const aboutOrderNumber = aboutNumber('order_number');

/**
 * The reasons that a merchant can resolve. All others become `internal`: the facade made an error, or core cannot answer.
 */
const failures: Readonly<Partial<Record<ErrorReason, (error: ConnectError) => Failure>>> = {
  INVALID_FIELDS: (error) => {
    const details = violationsOf(error);
    return details.length > 0 && details.every(isMerchantField) ? { kind: 'invalid', details } : internal();
  },
  ORDER_NUMBER_TAKEN: aboutOrderNumber(
    'has been used before, with other values or for an order that has ended; use a new order_number',
  ),
  IDEMPOTENCY_KEY_REUSED: () => ({ kind: 'key_reused' }),
  PAYMENT_IN_PROGRESS: aboutOrderNumber('has another payment in progress; wait until it has ended'),
  MONEY_NOT_RETURNED: aboutOrderNumber(
    'belongs to an order whose earlier payment took money that has not been returned yet; wait until it is returned',
  ),
  ORDER_NOT_PAYABLE: aboutOrderNumber(
    'belongs to an order that can no longer be paid; use a new order_number',
  ),
  ORDER_NOT_FOUND: () => ({ kind: 'not_found' }),
  ORDER_NOT_REFUNDABLE: aboutOrderNumber('belongs to an order that cannot be refunded'),
  REFUND_NUMBER_TAKEN: aboutNumber('refund_number')(
    'has been used before, with other values; use a new refund_number',
  ),
  REFUND_NOT_FOUND: () => ({ kind: 'not_found' }),
  API_KEY_NOT_ALLOWED: () => ({ kind: 'forbidden', scope: 'refunds' }),
  MERCHANT_SUSPENDED: forbidden,
  PRODUCTION_NOT_ACTIVATED: forbidden,
  RECOVERING: (error) => ({ kind: 'recovering', retryAfterSeconds: retryAfterSecondsOf(error) ?? 30 }),
  PHONE_BUSY: (error) => ({ ...tooManyRequests(error), limit: 'open_prompts' }),
  PHONE_LIMIT: (error) => ({ ...tooManyRequests(error), limit: 'recent_prompts' }),
};

/** The reasons of core that a merchant can resolve. */
export const merchantReasons = Object.keys(failures) as readonly ErrorReason[];

/** The failure that a merchant sees when a call to core throws. It contains only texts for merchants. */
export function failureOfRpc(thrown: unknown): RequestFailure {
  if (!(thrown instanceof ConnectError)) return new RequestFailure(internal(), 'UNEXPECTED', thrown);
  const reason = reasonOf(thrown);
  if (reason === undefined)
    return new RequestFailure(internal(), `RPC_${Code[thrown.code].toUpperCase()}`, thrown);
  // A newer core may send a reason that this version does not know.
  return new RequestFailure(failureOfReason(reason, thrown), reason as FailureReason, thrown);
}

function failureOfReason(reason: string, error: ConnectError): Failure {
  const failure = isErrorReason(reason) ? failures[reason] : undefined;
  if (failure !== undefined) return failure(error);
  // Use the reason's status, or the received status for a limit of a newer core that this facade does not know.
  const isLimit = isErrorReason(reason)
    ? errorReasons[reason].httpStatus === 429
    : error.code === Code.ResourceExhausted;
  return isLimit ? tooManyRequests(error) : internal();
}

/** The problems of a google.rpc.BadRequest. */
function violationsOf(error: ConnectError): ErrorDetail[] {
  return error
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) => fieldViolations)
    .map(({ field, description }) => ({ field, issue: description }));
}

/** False for fields that the facade fills in, because the merchant cannot correct them. */
const isMerchantField = ({ field }: ErrorDetail): boolean =>
  !['merchant_id', 'environment', 'payment_type', 'validate_only', 'order_id', 'api_key_id', ''].includes(
    field,
  );

function tooManyRequests(error: ConnectError): Extract<Failure, { kind: 'too_many_requests' }> {
  return { kind: 'too_many_requests', retryAfterSeconds: retryAfterSecondsOf(error) ?? 1 };
}
