const longestWaitMs = 24 * 60 * 60 * 1000;

/**
 * How long a Retry-After header (RFC 9110, section 10.2.3: seconds, or a date) asks to wait. Undefined when there is
 * none or it is neither; at most a day, so that a slip in it does not leave a payment unasked about.
 */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^[0-9]{1,9}$/.test(header)) return Math.min(Number(header) * 1000, longestWaitMs);
  const date = /^[A-Z][a-z]{2}, /.test(header) ? Date.parse(header) : Number.NaN;
  if (Number.isNaN(date)) return undefined;
  return Math.min(Math.max(date - now.getTime(), 0), longestWaitMs);
}
