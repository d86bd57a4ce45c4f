import { ConnectionError, ServerError, TooManyRequestsError } from './errors.ts';

/** When requests are repeated. Every request of this package is safe to repeat. */
export interface RetryPolicy {
  /** The maximum number of repeats of a request. */
  readonly retries: number;
  /** A longer Retry-After is not waited for: the error is thrown, with its `retryAfter`. */
  readonly longestRetryAfterSeconds: number;
}

const firstPauseMs = 250;
const longestPauseMs = 8_000;

/**
 * The pause before a repeat, in milliseconds; undefined when the request is not repeated. Repeated are requests without an
 * answer, 5xx, and 429 with a Retry-After. The pause doubles each time and varies at random, so that clients that failed
 * together do not return together.
 *
 * @param repeats how often the request was repeated before
 * @param random from 0 to 1
 */
export function pauseBeforeRepeat(
  error: unknown,
  repeats: number,
  policy: RetryPolicy,
  random: number,
): number | undefined {
  if (repeats >= policy.retries) return undefined;
  const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** repeats);
  const pauseMs = longest / 2 + (longest / 2) * random;
  if (error instanceof ConnectionError) return pauseMs;
  const isServerError = error instanceof ServerError;
  if (!isServerError && !(error instanceof TooManyRequestsError)) return undefined;
  const { retryAfter } = error;
  if (retryAfter === undefined) return isServerError ? pauseMs : undefined;
  return retryAfter > policy.longestRetryAfterSeconds ? undefined : retryAfter * 1000 + pauseMs;
}

/** Resolves after the time. @throws the reason of the signal when it aborts before that */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
