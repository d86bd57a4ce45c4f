import type { ErrorReason } from '../contract/error-reason.ts';
import type { ErrorDetail, ReachedLimit } from '../merchant-api/error-envelope.ts';

/** Every failure of a request that a merchant can see. */
export type Failure =
  | { readonly kind: 'invalid'; readonly details: readonly ErrorDetail[] }
  | {
      readonly kind: 'unauthorized';
      /** The probable problem of the API key. */
      readonly issue: string;
    }
  | {
      readonly kind: 'forbidden';
      /** The scope that the API key lacks; absent when the merchant may not use the environment. */
      readonly scope?: 'refunds';
    }
  | {
      readonly kind: 'not_found';
      /** The problem of the path or the method; absent when an order or a refund does not exist. */
      readonly detail?: ErrorDetail;
    }
  | { readonly kind: 'key_reused' }
  | {
      readonly kind: 'too_many_requests';
      readonly retryAfterSeconds: number;
      /** The reached limit; by default that of requests. */
      readonly limit?: ReachedLimit;
    }
  /** The gateway was restored from a backup, and does not know yet what the wallets did since. */
  | { readonly kind: 'recovering'; readonly retryAfterSeconds: number }
  | { readonly kind: 'internal' };

/** The facade's own reasons. Those of core are in src/contract/error-reason.ts. */
export const facadeReasons = [
  'NO_API_KEY',
  'TOO_MANY_FAILED_KEYS',
  'KEY_RATE_LIMITED',
  'WAITING_LIMITED',
  'ROUTE_NOT_FOUND',
  'UNEXPECTED',
] as const;

/** A reason of core, one of the facade's own, or the status of a call without a reason. */
export type FailureReason = ErrorReason | (typeof facadeReasons)[number] | `RPC_${string}`;

/** A request that is answered with an error. Only the log contains the cause and the reason. */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure';
  readonly failure: Failure;
  readonly reason: FailureReason;

  constructor(failure: Failure, reason: FailureReason, cause?: unknown) {
    super(reason, { cause });
    this.failure = failure;
    this.reason = reason;
  }
}

/** A 400 with these details. */
export function invalidRequest(details: readonly ErrorDetail[]): RequestFailure {
  return new RequestFailure({ kind: 'invalid', details }, 'INVALID_FIELDS');
}
