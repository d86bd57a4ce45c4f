const endsWithOffset = /(?:Z|[+-]\d\d:?\d\d)$/i;

/**
 * The time of an entry of a statement; undefined if it is missing or no time. Wallets should write it with an offset (RFC 3339). One without
 * is in the wallet's own `zone`, 'Z' or such as '+03:00'. JavaScript would take the time zone of this machine, and the day would depend on
 * it.
 */
export function statementTime(text: string | undefined, zone: string): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(endsWithOffset.test(text) ? text : text + zone);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
