import { Code } from '@connectrpc/connect';

/**
 * Every reason an RPC may fail for, as google.rpc.ErrorInfo carries it, with the status code it comes under.
 * Callers decide by the reason; the message is for people.
 */
export const errorReasons = {
  INVALID_FIELDS: Code.InvalidArgument,
  INVALID_API_KEY: Code.Unauthenticated,
  INVALID_SERVICE_TOKEN: Code.Unauthenticated,
  ROLE_NOT_ALLOWED: Code.PermissionDenied,
  MERCHANT_SUSPENDED: Code.PermissionDenied,
  PRODUCTION_NOT_ACTIVATED: Code.PermissionDenied,
  MERCHANT_NOT_FOUND: Code.NotFound,
  API_KEY_NOT_FOUND: Code.NotFound,
  ORDER_NOT_FOUND: Code.NotFound,
  SYMBOL_NOT_FOUND: Code.NotFound,
  ORDER_NUMBER_TAKEN: Code.AlreadyExists,
  PAYMENT_IN_PROGRESS: Code.FailedPrecondition,
  MONEY_NOT_RETURNED: Code.FailedPrecondition,
  ORDER_NOT_PAYABLE: Code.FailedPrecondition,
  API_KEY_NOT_USABLE: Code.FailedPrecondition,
  TOO_MANY_API_KEYS: Code.ResourceExhausted,
  OVERLOADED: Code.ResourceExhausted,
  PHONE_BUSY: Code.ResourceExhausted,
  PHONE_LIMIT: Code.ResourceExhausted,
  PAYMENT_ATTEMPT_NOT_FOUND: Code.NotFound,
  STRAY_PAYMENT_NOT_FOUND: Code.NotFound,
  RECONCILIATION_NOT_FOUND: Code.NotFound,
  CHECKOUT_NOT_FOUND: Code.NotFound,
  DELIVERY_NOT_FOUND: Code.NotFound,
  REDELIVERY_NOT_FOUND: Code.NotFound,
  ENDPOINT_NOT_FOUND: Code.NotFound,
  USER_NOT_FOUND: Code.NotFound,
  LINK_NOT_USABLE: Code.NotFound,
  API_REQUEST_NOT_FOUND: Code.NotFound,
  ACCOUNT_HELP_NOT_FOUND: Code.NotFound,
  NOT_AN_OPERATOR: Code.PermissionDenied,
  SECOND_OPERATOR_NEEDED: Code.FailedPrecondition,
  OPERATOR_TOO_NEW: Code.FailedPrecondition,
  MAILED_TO_USER: Code.FailedPrecondition,
  ALREADY_A_MEMBER: Code.AlreadyExists,
  WRONG_CREDENTIALS: Code.Unauthenticated,
  WRONG_CODE: Code.Unauthenticated,
  TOTP_NOT_ENABLED: Code.FailedPrecondition,
  TOTP_NOT_BEGUN: Code.FailedPrecondition,
  TOTP_ENABLED: Code.FailedPrecondition,
  LAST_OWNER: Code.FailedPrecondition,
  LAST_OPERATOR: Code.FailedPrecondition,
  CHANGED_MEANWHILE: Code.Aborted,
  TOO_MANY_TRIES: Code.ResourceExhausted,
  LEASE_LOST: Code.FailedPrecondition,
  REVERSAL_NOT_REFUSED: Code.FailedPrecondition,
  NO_NEXT_SECRET: Code.FailedPrecondition,
  REDELIVERY_RUNNING: Code.FailedPrecondition,
  CHECKOUT_IN_USE: Code.FailedPrecondition,
  CALL_CANCELLED: Code.Canceled,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  DATABASE_UNAVAILABLE: Code.Unavailable,
  CORE_UNAVAILABLE: Code.Unavailable,
  SERVER_DRAINING: Code.Unavailable,
  INTERNAL: Code.Internal,
} as const satisfies Record<string, Code>;

export type ErrorReason = keyof typeof errorReasons;

/** Whether this version knows a reason that it was given: a newer core may give others. */
export const isErrorReason = (reason: string): reason is ErrorReason => Object.hasOwn(errorReasons, reason);
