import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../gen/google/rpc/error_details_pb.js';
import { isErrorReason } from '../contract/error-reason.ts';
import type { ErrorReason } from '../contract/error-reason.ts';
import { notPayableCauseOf } from '../contract/not-payable.ts';
import type { NotPayableCause } from '../contract/not-payable.ts';
import { reasonOf, retryAfterSecondsOf } from '../platform/rpc/rpc-error.ts';

/** The kinds of failed calls to core that a customer can see. */
export type CheckoutFailureKind =
  | 'unknown_link'
  | 'in_use'
  /** A payment is in progress, perhaps from another tab. The page shows that payment. */
  | 'payment_in_progress'
  /** The order accepts no payment now. `cause` gives the reason. */
  | 'not_payable'
  | 'invalid_fields'
  | 'phone_busy'
  | 'phone_limit'
  | 'merchant_closed'
  | 'unavailable';

export interface CheckoutFailure {
  readonly kind: CheckoutFailureKind;
  /** Core's UPPER_SNAKE reason, or one derived from the status code. */
  readonly reason: string;
  /** The names of the fields that were refused. */
  readonly fields: readonly string[];
  readonly retryAfterSeconds: number | undefined;
  /** The cause of `not_payable`; undefined for a cause of a newer core. */
  readonly cause: NotPayableCause | undefined;
}

/** All other reasons become `unavailable`: core cannot answer, or this process or core is configured incorrectly. */
const kinds: Readonly<Partial<Record<ErrorReason, CheckoutFailureKind>>> = {
  CHECKOUT_NOT_FOUND: 'unknown_link',
  ORDER_NOT_FOUND: 'unknown_link',
  CHECKOUT_IN_USE: 'in_use',
  PAYMENT_IN_PROGRESS: 'payment_in_progress',
  ORDER_NOT_PAYABLE: 'not_payable',
  MONEY_NOT_RETURNED: 'not_payable',
  INVALID_FIELDS: 'invalid_fields',
  PHONE_BUSY: 'phone_busy',
  PHONE_LIMIT: 'phone_limit',
  MERCHANT_SUSPENDED: 'merchant_closed',
  PRODUCTION_NOT_ACTIVATED: 'merchant_closed',
};

/** The failure that the customer sees when a call to core throws. */
export function failureOfRpc(thrown: unknown): CheckoutFailure {
  const none = { fields: [], retryAfterSeconds: undefined, cause: undefined };
  if (!(thrown instanceof ConnectError)) return { kind: 'unavailable', reason: 'UNEXPECTED', ...none };
  const reason = reasonOf(thrown);
  if (reason === undefined)
    return { kind: 'unavailable', reason: `RPC_${Code[thrown.code].toUpperCase()}`, ...none };
  return {
    kind: (isErrorReason(reason) ? kinds[reason] : undefined) ?? 'unavailable',
    reason,
    fields: thrown
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field)),
    retryAfterSeconds: retryAfterSecondsOf(thrown),
    cause: notPayableCauseOf(thrown),
  };
}
