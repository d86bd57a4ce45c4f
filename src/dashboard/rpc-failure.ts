import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema } from '../gen/google/rpc/error_details_pb.js';
import { errorReasons, isErrorReason } from '../contract/error-reason.ts';
import type { ErrorReason } from '../contract/error-reason.ts';
import { reasonOf, retryAfterSecondsOf } from '../platform/rpc/rpc-error.ts';
import type { Problem } from './page-problem.ts';

/** A failed call to core or webhooks. */
export interface RpcFailure {
  /** The error page, unless the route has a better one. */
  readonly problem: Problem;
  /** The reason in UPPER_SNAKE_CASE, or one made of the status code. */
  readonly reason: string;
  /** The server's message in English, safe to show. */
  readonly message: string;
  /** The refused fields, with the reasons. */
  readonly fields: readonly { readonly field: string; readonly issue: string }[];
  /** The facts in the error's metadata. */
  readonly facts: Readonly<Record<string, string>>;
  readonly retryAfterSeconds: number | undefined;
}

/** The error page of each HTTP status. */
const problemOfStatus: Readonly<Record<number, Problem>> = {
  400: 'badRequest',
  401: 'forbidden',
  403: 'forbidden',
  404: 'notFound',
  409: 'refused',
  429: 'tooManyRequests',
};

/** The reasons whose error page differs from that of their HTTP status. */
const exceptions: Readonly<Partial<Record<ErrorReason, Problem>>> = {
  API_KEY_NOT_USABLE: 'changedMeanwhile',
  CHANGED_MEANWHILE: 'changedMeanwhile',
  NO_NEXT_SECRET: 'changedMeanwhile',
  REFUND_NOT_AWAITING_APPROVAL: 'changedMeanwhile',
  REVERSAL_NOT_REFUSED: 'changedMeanwhile',
  SETTLEMENT_NOT_OPEN: 'changedMeanwhile',
  TOTP_NOT_ENABLED: 'changedMeanwhile',
  TOTP_NOT_BEGUN: 'changedMeanwhile',
  TOTP_ENABLED: 'changedMeanwhile',
  // A limit of the merchant, not of this user.
  MERCHANT_SUSPENDED: 'refused',
  PRODUCTION_NOT_ACTIVATED: 'refused',
  RECOVERING: 'recovering',
  // This user did not send too many requests.
  OVERLOADED: 'unavailable',
  // A wrong setting, or a defect of Gatehouse.
  INVALID_SERVICE_TOKEN: 'unavailable',
  INVALID_CLIENT_CERTIFICATE: 'unavailable',
  INTERNAL: 'unexpected',
  INVALID_API_KEY: 'unexpected',
  LEASE_LOST: 'unexpected',
  ROLE_NOT_ALLOWED: 'unexpected',
};

const problemOf = (reason: ErrorReason): Problem =>
  exceptions[reason] ?? problemOfStatus[errorReasons[reason].httpStatus] ?? 'unavailable';

/** The failure of an RPC; undefined for any other error. */
export function failureOfRpc(thrown: unknown): RpcFailure | undefined {
  if (!(thrown instanceof ConnectError)) return undefined;
  const reason = reasonOf(thrown);
  return {
    problem: reason !== undefined && isErrorReason(reason) ? problemOf(reason) : 'unavailable',
    reason: reason ?? `RPC_${Code[thrown.code].toUpperCase()}`,
    message: thrown.rawMessage,
    fields: thrown
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) =>
        fieldViolations.map(({ field, description }) => ({ field, issue: description })),
      ),
    facts: thrown.findDetails(ErrorInfoSchema)[0]?.metadata ?? {},
    retryAfterSeconds: retryAfterSecondsOf(thrown),
  };
}
