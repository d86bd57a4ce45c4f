import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../gen/google/rpc/error_details_pb.js';
import { isErrorReason } from '../runtime/rpc/error-reason.ts';
import type { ErrorReason } from '../runtime/rpc/error-reason.ts';
import { notPayableCauseOf } from '../runtime/rpc/not-payable.ts';
import type { NotPayableCause } from '../runtime/rpc/not-payable.ts';
import { reasonOf, retryAfterSecondsOf } from '../runtime/rpc/rpc-error.ts';

/** What a failed call to core comes to for the customer. */
export type CheckoutFailureKind =
  | 'unknown_link'
  | 'in_use'
  /** A payment is under way, perhaps from another tab: the page shows that one. */
  | 'payment_in_progress'
  /** The order takes no payment now; `cause` says why. */
  | 'not_payable'
  | 'invalid_fields'
  | 'phone_busy'
  | 'phone_limit'
  | 'merchant_closed'
  | 'unavailable';

export interface CheckoutFailure {
  readonly kind: CheckoutFailureKind;
  /** The UPPER_SNAKE reason core gave, or one made of the status code. */
  readonly reason: string;
  /** The names of the fields that were refused. */
  readonly fields: readonly string[];
  readonly retryAfterSeconds: number | undefined;
  /** Of `not_payable`; undefined for a cause that only a newer core knows. */
  readonly cause: NotPayableCause | undefined;
}

/** For every reason core can give; one without an entry does not compile. */
const kinds: Readonly<Record<ErrorReason, CheckoutFailureKind>> = {
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
  OVERLOADED: 'unavailable',
  DATABASE_UNAVAILABLE: 'unavailable',
  CORE_UNAVAILABLE: 'unavailable',
  SERVER_DRAINING: 'unavailable',
  DEADLINE_EXCEEDED: 'unavailable',
  CALL_CANCELLED: 'unavailable',
  INTERNAL: 'unavailable',
  // Not said to this process unless it, or core, is set up wrongly.
  INVALID_API_KEY: 'unavailable',
  INVALID_SERVICE_TOKEN: 'unavailable',
  ROLE_NOT_ALLOWED: 'unavailable',
  MERCHANT_NOT_FOUND: 'unavailable',
  API_KEY_NOT_FOUND: 'unavailable',
  SYMBOL_NOT_FOUND: 'unavailable',
  ORDER_NUMBER_TAKEN: 'unavailable',
  API_KEY_NOT_USABLE: 'unavailable',
  TOO_MANY_API_KEYS: 'unavailable',
  PAYMENT_ATTEMPT_NOT_FOUND: 'unavailable',
  STRAY_PAYMENT_NOT_FOUND: 'unavailable',
  RECONCILIATION_NOT_FOUND: 'unavailable',
  LEASE_LOST: 'unavailable',
  REVERSAL_NOT_REFUSED: 'unavailable',
  NO_NEXT_SECRET: 'unavailable',
  REDELIVERY_RUNNING: 'unavailable',
  DELIVERY_NOT_FOUND: 'unavailable',
  REDELIVERY_NOT_FOUND: 'unavailable',
  ENDPOINT_NOT_FOUND: 'unavailable',
  USER_NOT_FOUND: 'unavailable',
  LINK_NOT_USABLE: 'unavailable',
  API_REQUEST_NOT_FOUND: 'unavailable',
  ALREADY_A_MEMBER: 'unavailable',
  WRONG_CREDENTIALS: 'unavailable',
  WRONG_CODE: 'unavailable',
  TOTP_NOT_ENABLED: 'unavailable',
  TOTP_NOT_BEGUN: 'unavailable',
  TOTP_ENABLED: 'unavailable',
  LAST_OWNER: 'unavailable',
  LAST_OPERATOR: 'unavailable',
  ACCOUNT_HELP_NOT_FOUND: 'unavailable',
  NOT_AN_OPERATOR: 'unavailable',
  SECOND_OPERATOR_NEEDED: 'unavailable',
  OPERATOR_TOO_NEW: 'unavailable',
  MAILED_TO_USER: 'unavailable',
  CHANGED_MEANWHILE: 'unavailable',
  TOO_MANY_TRIES: 'unavailable',
};

/** What the customer is told when a call to core threw. */
export function failureOfRpc(thrown: unknown): CheckoutFailure {
  const none = { fields: [], retryAfterSeconds: undefined, cause: undefined };
  if (!(thrown instanceof ConnectError)) return { kind: 'unavailable', reason: 'UNEXPECTED', ...none };
  const reason = reasonOf(thrown);
  if (reason === undefined)
    return { kind: 'unavailable', reason: `RPC_${Code[thrown.code].toUpperCase()}`, ...none };
  return {
    kind: isErrorReason(reason) ? kinds[reason] : 'unavailable',
    reason,
    fields: thrown
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field)),
    retryAfterSeconds: retryAfterSecondsOf(thrown),
    cause: notPayableCauseOf(thrown),
  };
}
