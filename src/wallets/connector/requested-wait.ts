import { httpDate, retryAfterMs } from '../../platform/http/retry-after.ts';

const longestWaitMs = 24 * 60 * 60 * 1000;

/** The relevant headers of an answer, by their names in lower case. */
type Headers = Readonly<Record<string, string>>;

/**
 * The wait in an answer's Retry-After. Undefined when it is missing or unreadable. It is at most a day, so that an error in it
 * does not stop the queries of a payment. A date is relative to the answer's own Date, if it has one (RFC 9110, section 6.6.1),
 * because the wallet's clock may differ from ours.
 */
export function requestedWaitMs(headers: Headers, now: Date): number | undefined {
  const answeredAtMs = httpDate(headers['date'] ?? '') ?? now.getTime();
  const waitMs = retryAfterMs(headers['retry-after'] ?? '', new Date(answeredAtMs));
  return waitMs === undefined ? undefined : Math.min(waitMs, longestWaitMs);
}
