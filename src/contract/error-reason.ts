import { platformReasons, statuses } from '../platform/rpc/error-reason.ts';
import type { ReasonStatus } from '../platform/rpc/error-reason.ts';
import { errorsOf } from '../platform/rpc/rpc-error.ts';

const {
  unauthenticated,
  permissionDenied,
  notFound,
  alreadyExists,
  failedPrecondition,
  aborted,
  resourceExhausted,
  unavailable,
} = statuses;

/**
 * Every reason for which an RPC may fail, as in google.rpc.ErrorInfo, with its default statuses. An edge lists only the
 * reasons with other statuses. Programs use the reason, and people read the message.
 */
export const errorReasons = {
  ...platformReasons,
  INVALID_API_KEY: unauthenticated,
  MERCHANT_SUSPENDED: permissionDenied,
  PRODUCTION_NOT_ACTIVATED: permissionDenied,
  MERCHANT_NOT_FOUND: notFound,
  CERTIFICATION_REQUIRED: failedPrecondition,
  MERCHANTS_LOST: failedPrecondition,
  MERCHANT_NOT_LOST: failedPrecondition,
  ADDED_ACCOUNTS_NOT_ACCEPTED: failedPrecondition,
  API_KEY_NOT_FOUND: notFound,
  ORDER_NOT_FOUND: notFound,
  ORDER_NUMBER_TAKEN: alreadyExists,
  // The IETF draft of the header asks for this status.
  IDEMPOTENCY_KEY_REUSED: { ...alreadyExists, httpStatus: 422 },
  PAYMENT_IN_PROGRESS: failedPrecondition,
  MONEY_NOT_RETURNED: failedPrecondition,
  ORDER_NOT_PAYABLE: failedPrecondition,
  API_KEY_NOT_USABLE: failedPrecondition,
  // The merchant has reached its limit, so waiting does not help.
  TOO_MANY_API_KEYS: { ...resourceExhausted, httpStatus: 409 },
  PHONE_BUSY: resourceExhausted,
  PHONE_LIMIT: resourceExhausted,
  PAYMENT_ATTEMPT_NOT_FOUND: notFound,
  STRAY_PAYMENT_NOT_FOUND: notFound,
  REFUND_NOT_FOUND: notFound,
  REFUND_NUMBER_TAKEN: alreadyExists,
  ORDER_NOT_REFUNDABLE: failedPrecondition,
  REFUND_NOT_AWAITING_APPROVAL: failedPrecondition,
  SECOND_PERSON_NEEDED: failedPrecondition,
  API_KEY_NOT_ALLOWED: permissionDenied,
  SETTLEMENT_NOT_FOUND: notFound,
  SETTLEMENT_OPEN: failedPrecondition,
  SETTLEMENT_NOT_OPEN: failedPrecondition,
  NOT_UNSETTLED: failedPrecondition,
  NOT_RECOVERING: failedPrecondition,
  AUDIT_ROOT_NOT_FOUND: notFound,
  PAYER_PAYMENT_NOT_FOUND: notFound,
  RECONCILIATION_NOT_FOUND: notFound,
  CHECKOUT_NOT_FOUND: notFound,
  DELIVERY_NOT_FOUND: notFound,
  REDELIVERY_NOT_FOUND: notFound,
  ENDPOINT_NOT_FOUND: notFound,
  WEBHOOK_ENDPOINT_NOT_FOUND: notFound,
  WEBHOOK_ENDPOINT_EXISTS: alreadyExists,
  WEBHOOK_ENDPOINT_DELETED: failedPrecondition,
  // Waiting does not help: an endpoint must be deleted.
  TOO_MANY_WEBHOOK_ENDPOINTS: { ...resourceExhausted, httpStatus: 409 },
  USER_NOT_FOUND: notFound,
  LINK_NOT_USABLE: notFound,
  API_REQUEST_NOT_FOUND: notFound,
  ACCOUNT_HELP_NOT_FOUND: notFound,
  NOT_AN_OPERATOR: permissionDenied,
  NOT_AN_OWNER: permissionDenied,
  SECOND_OPERATOR_NEEDED: failedPrecondition,
  OPERATOR_TOO_NEW: failedPrecondition,
  MAILED_TO_USER: failedPrecondition,
  ALREADY_A_MEMBER: alreadyExists,
  WRONG_CREDENTIALS: unauthenticated,
  WRONG_CODE: unauthenticated,
  TOTP_NOT_ENABLED: failedPrecondition,
  TOTP_NOT_BEGUN: failedPrecondition,
  TOTP_ENABLED: failedPrecondition,
  LAST_OWNER: failedPrecondition,
  LAST_OPERATOR: failedPrecondition,
  CHANGED_MEANWHILE: aborted,
  TOO_MANY_TRIES: resourceExhausted,
  LEASE_LOST: failedPrecondition,
  REVERSAL_NOT_REFUSED: failedPrecondition,
  WALLET_ACCOUNT_NOT_FOUND: notFound,
  WALLET_ACCOUNT_NOT_CHECKED: failedPrecondition,
  WALLET_ACCOUNT_NOT_CURRENT: failedPrecondition,
  WALLET_ACCOUNT_IN_USE: failedPrecondition,
  WALLET_ACCOUNT_UNREADABLE: failedPrecondition,
  // Waiting does not help: an account must be removed.
  TOO_MANY_WALLET_ACCOUNTS: { ...resourceExhausted, httpStatus: 409 },
  NO_NEXT_SECRET: failedPrecondition,
  REDELIVERY_RUNNING: failedPrecondition,
  WALLET_CALL_RUNNING: failedPrecondition,
  CHECKOUT_IN_USE: failedPrecondition,
  CORE_UNAVAILABLE: unavailable,
  // A restored gateway asks the wallets first. Waiting helps.
  RECOVERING: unavailable,
} as const satisfies Record<string, ReasonStatus>;

export type ErrorReason = keyof typeof errorReasons;

/** Whether this version knows a received reason. A newer core may send others. */
export const isErrorReason = (reason: string): reason is ErrorReason => Object.hasOwn(errorReasons, reason);

/** The only error that an RPC handler throws: a reason, a message that is safe to show, and a private cause. */
export const rpcError = errorsOf(errorReasons);
