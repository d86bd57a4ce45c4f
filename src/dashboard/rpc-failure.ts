import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../gen/google/rpc/error_details_pb.js';
import { isErrorReason } from '../runtime/rpc/error-reason.ts';
import type { ErrorReason } from '../runtime/rpc/error-reason.ts';
import { reasonOf, retryAfterSecondsOf } from '../runtime/rpc/rpc-error.ts';
import type { Problem } from './page-problem.ts';

/** A call to core or webhooks that did not give what was asked for. */
export interface RpcFailure {
  /** The page it comes to when nobody has a better one. */
  readonly problem: Problem;
  /** The UPPER_SNAKE reason given, or one made of the status code. */
  readonly reason: string;
  /** The server's words, in English and safe to show. */
  readonly message: string;
  /** The fields that were refused, and why. */
  readonly fields: readonly { readonly field: string; readonly issue: string }[];
  readonly retryAfterSeconds: number | undefined;
}

/** For every reason there is; one without an entry does not compile. */
const problemOfReason: Readonly<Record<ErrorReason, Problem>> = {
  INVALID_FIELDS: 'badRequest',
  MERCHANT_NOT_FOUND: 'notFound',
  API_KEY_NOT_FOUND: 'notFound',
  ORDER_NOT_FOUND: 'notFound',
  SYMBOL_NOT_FOUND: 'notFound',
  PAYMENT_ATTEMPT_NOT_FOUND: 'notFound',
  STRAY_PAYMENT_NOT_FOUND: 'notFound',
  RECONCILIATION_NOT_FOUND: 'notFound',
  CHECKOUT_NOT_FOUND: 'notFound',
  DELIVERY_NOT_FOUND: 'notFound',
  REDELIVERY_NOT_FOUND: 'notFound',
  ENDPOINT_NOT_FOUND: 'notFound',
  USER_NOT_FOUND: 'notFound',
  LINK_NOT_USABLE: 'notFound',
  API_REQUEST_NOT_FOUND: 'notFound',
  CHANGED_MEANWHILE: 'changedMeanwhile',
  PAYMENT_IN_PROGRESS: 'refused',
  MONEY_NOT_RETURNED: 'refused',
  ORDER_NOT_PAYABLE: 'refused',
  ORDER_NUMBER_TAKEN: 'refused',
  API_KEY_NOT_USABLE: 'changedMeanwhile',
  NO_NEXT_SECRET: 'changedMeanwhile',
  REVERSAL_NOT_REFUSED: 'changedMeanwhile',
  REDELIVERY_RUNNING: 'refused',
  TOO_MANY_API_KEYS: 'refused',
  MERCHANT_SUSPENDED: 'refused',
  PRODUCTION_NOT_ACTIVATED: 'refused',
  ALREADY_A_MEMBER: 'refused',
  LAST_OWNER: 'refused',
  LAST_OPERATOR: 'refused',
  ACCOUNT_HELP_NOT_FOUND: 'notFound',
  NOT_AN_OPERATOR: 'forbidden',
  SECOND_OPERATOR_NEEDED: 'refused',
  OPERATOR_TOO_NEW: 'refused',
  MAILED_TO_USER: 'refused',
  WRONG_CREDENTIALS: 'forbidden',
  WRONG_CODE: 'forbidden',
  TOTP_NOT_ENABLED: 'changedMeanwhile',
  TOTP_NOT_BEGUN: 'changedMeanwhile',
  TOTP_ENABLED: 'changedMeanwhile',
  TOO_MANY_TRIES: 'tooManyRequests',
  PHONE_BUSY: 'tooManyRequests',
  PHONE_LIMIT: 'tooManyRequests',
  CHECKOUT_IN_USE: 'refused',
  OVERLOADED: 'unavailable',
  DATABASE_UNAVAILABLE: 'unavailable',
  CORE_UNAVAILABLE: 'unavailable',
  SERVER_DRAINING: 'unavailable',
  DEADLINE_EXCEEDED: 'unavailable',
  CALL_CANCELLED: 'unavailable',
  // Ours or the other side's mistake, or a setting that is wrong.
  INTERNAL: 'unavailable',
  LEASE_LOST: 'unexpected',
  INVALID_API_KEY: 'unexpected',
  INVALID_SERVICE_TOKEN: 'unavailable',
  ROLE_NOT_ALLOWED: 'unexpected',
};

/** What a failed call comes to; undefined for an error that is no RPC's. */
export function failureOfRpc(thrown: unknown): RpcFailure | undefined {
  if (!(thrown instanceof ConnectError)) return undefined;
  const reason = reasonOf(thrown);
  return {
    problem: reason !== undefined && isErrorReason(reason) ? problemOfReason[reason] : 'unavailable',
    reason: reason ?? `RPC_${Code[thrown.code].toUpperCase()}`,
    message: thrown.rawMessage,
    fields: thrown
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) =>
        fieldViolations.map(({ field, description }) => ({ field, issue: description })),
      ),
    retryAfterSeconds: retryAfterSecondsOf(thrown),
  };
}
