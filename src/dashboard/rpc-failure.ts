import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../gen/google/rpc/error_details_pb.js';
import { errorReasons, isErrorReason } from '../contract/error-reason.ts';
import type { ErrorReason } from '../contract/error-reason.ts';
import { reasonOf, retryAfterSecondsOf } from '../platform/rpc/rpc-error.ts';
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

/** The page that a reason's HTTP status comes to. */
const problemOfStatus: Readonly<Record<number, Problem>> = {
  400: 'badRequest',
  401: 'forbidden',
  403: 'forbidden',
  404: 'notFound',
  409: 'refused',
  429: 'tooManyRequests',
};

/** The reasons that come to another page than their HTTP status says. */
const exceptions: Readonly<Partial<Record<ErrorReason, Problem>>> = {
  API_KEY_NOT_USABLE: 'changedMeanwhile',
  CHANGED_MEANWHILE: 'changedMeanwhile',
  NO_NEXT_SECRET: 'changedMeanwhile',
  REVERSAL_NOT_REFUSED: 'changedMeanwhile',
  TOTP_NOT_ENABLED: 'changedMeanwhile',
  TOTP_NOT_BEGUN: 'changedMeanwhile',
  TOTP_ENABLED: 'changedMeanwhile',
  // Of the merchant, not of the person who asks.
  MERCHANT_SUSPENDED: 'refused',
  PRODUCTION_NOT_ACTIVATED: 'refused',
  // Nobody here asked too often.
  OVERLOADED: 'unavailable',
  // A setting or a mistake of ours.
  INVALID_SERVICE_TOKEN: 'unavailable',
  INVALID_API_KEY: 'unexpected',
  LEASE_LOST: 'unexpected',
  ROLE_NOT_ALLOWED: 'unexpected',
};

const problemOf = (reason: ErrorReason): Problem =>
  exceptions[reason] ?? problemOfStatus[errorReasons[reason].httpStatus] ?? 'unavailable';

/** What a failed call comes to; undefined for an error that is no RPC's. */
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
    retryAfterSeconds: retryAfterSecondsOf(thrown),
  };
}
