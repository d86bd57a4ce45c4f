import type { ErrorDetail, ReachedLimit } from '../merchant-api/error-envelope.ts';

/** Every way a request can fail, as far as the merchant is told. */
export type Failure =
  | { readonly kind: 'invalid'; readonly details: readonly ErrorDetail[] }
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'not_found' }
  | {
      readonly kind: 'too_many_requests';
      readonly retryAfterSeconds: number;
      /** That of requests when it does not say. */
      readonly limit?: ReachedLimit;
    }
  | { readonly kind: 'internal' };

/** A request that is answered with an error. The cause and the reason are for the log alone. */
export class RequestFailure extends Error {
  override readonly name = 'RequestFailure';
  readonly failure: Failure;
  /** The UPPER_SNAKE reason core gave, or one of the facade's own. */
  readonly reason: string;

  constructor(failure: Failure, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.failure = failure;
    this.reason = reason;
  }
}

/** A 400 with these details. */
export function invalidRequest(details: readonly ErrorDetail[]): RequestFailure {
  return new RequestFailure({ kind: 'invalid', details }, 'INVALID_FIELDS');
}
