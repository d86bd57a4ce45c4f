const days = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const longDays = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const months = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = '[0-9]{2}:[0-9]{2}:[0-9]{2}';

/** The form that servers must use today. */
const imfFixdate = new RegExp(`^${days}, [0-9]{2} ${months} [0-9]{4} ${time} GMT$`);
/** Two obsolete forms that clients must still accept. */
const rfc850Date = new RegExp(`^${longDays}, [0-9]{2}-${months}-[0-9]{2} ${time} GMT$`);
const asctimeDate = new RegExp(`^${days} ${months} [ 0-9][0-9] ${time} [0-9]{4}$`);

/**
 * Reads the header Retry-After (RFC 9110, 10.2.3): a number of seconds, or a date in one of the three forms of 5.6.7.
 *
 * @returns milliseconds from `now`, 0 for a date in the past, and undefined for invalid text.
 */
export function retryAfterMs(text: string, now: Date): number | undefined {
  const trimmed = text.trim();
  if (/^[0-9]+$/.test(trimmed)) return Number(trimmed) * 1000;
  const at = httpDate(trimmed);
  return at === undefined ? undefined : Math.max(0, at - now.getTime());
}

/** The time in a header, in milliseconds; undefined when it has none of the three forms (RFC 9110, 5.6.7). */
export function httpDate(text: string): number | undefined {
  const isDate = imfFixdate.test(text) || rfc850Date.test(text) || asctimeDate.test(text);
  if (!isDate) return undefined;
  // Only the asctime form does not name its zone, UTC.
  const at = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : at;
}
