import { httpDate, retryAfterMs } from '../../platform/http/retry-after.ts';

const longestWaitMs = 24 * 60 * 60 * 1000;

/** The headers of an answer that count, by their names in lower case. */
type Headers = Readonly<Record<string, string>>;

/**
 * How long an answer's Retry-After asks to wait. Undefined when there is none or it cannot be read; at most a day, so
 * that a slip in it does not leave a payment unasked about. A date is counted from the answer's own Date (RFC 9110,
 * section 6.6.1), where it has one: the wallet's clock may be another than ours.
 */
export function askedWaitMs(headers: Headers, now: Date): number | undefined {
  const answeredAtMs = httpDate(headers['date'] ?? '') ?? now.getTime();
  const waitMs = retryAfterMs(headers['retry-after'] ?? '', new Date(answeredAtMs));
  return waitMs === undefined ? undefined : Math.min(waitMs, longestWaitMs);
}
