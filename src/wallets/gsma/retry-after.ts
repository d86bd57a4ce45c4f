const longestWaitMs = 24 * 60 * 60 * 1000;

/** The headers of an answer that count, by their names in lower case. */
type Headers = Readonly<Record<string, string>>;

/**
 * How long a Retry-After header (RFC 9110, section 10.2.3: seconds, or a date) asks to wait. Undefined when there is
 * none or it is neither; at most a day, so that a slip in it does not leave a payment unasked about. A date is counted
 * from the answer's own Date (section 6.6.1), where it has one: the wallet's clock may be another than ours.
 */
export function retryAfterMs(headers: Headers, now: Date): number | undefined {
  const header = headers['retry-after'];
  if (header === undefined) return undefined;
  if (/^[0-9]{1,9}$/.test(header)) return Math.min(Number(header) * 1000, longestWaitMs);
  const until = dateMs(header);
  if (until === undefined) return undefined;
  return Math.min(Math.max(until - (dateMs(headers['date']) ?? now.getTime()), 0), longestWaitMs);
}

function dateMs(text: string | undefined): number | undefined {
  const date = text !== undefined && /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}
