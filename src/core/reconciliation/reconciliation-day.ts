const dayMs = 24 * 60 * 60_000;

/** How far apart a wallet's clock and ours may be without a payment being looked for on the wrong side of midnight. */
const clockToleranceMs = 10 * 60_000;

/** A payment that began longer before its day than this is not looked for: a statement has to end somewhere. */
const longestAttemptMs = 7 * dayMs;

/** One day, UTC: from its first instant to the first of the next. */
export interface Day {
  readonly from: Date;
  readonly until: Date;
}

/** The day that a date such as 2026-01-31 names, or undefined when it names none. */
export function parseDay(date: string): Day | undefined {
  if (!/^20[0-9]{2}-[0-9]{2}-[0-9]{2}$/.test(date)) return undefined;
  const from = new Date(`${date}T00:00:00Z`);
  // 31 February would come out as a day in March.
  if (Number.isNaN(from.getTime()) || dateOf(from) !== date) return undefined;
  return { from, until: new Date(from.getTime() + dayMs) };
}

/** The day of a date that was parsed before. Throws RangeError when it was not. */
export function dayOf(date: string): Day {
  const day = parseDay(date);
  if (day === undefined) throw new RangeError(`${JSON.stringify(date)} is no date`);
  return day;
}

/** The date, UTC, of an instant. */
export const dateOf = (at: Date): string => at.toISOString().slice(0, 10);

/** Whether something happened on the day; what has no time did. */
export const isOn = (day: Day, at: Date | null): boolean => at === null || (at >= day.from && at < day.until);

/**
 * What part of a statement the day's payments stand in. Wallets date a payment by its beginning and we by the moment at
 * which we heard of its end, so that it reaches back to the beginning of the oldest that ended on the day.
 */
export function periodToRead(day: Day, oldestBegun: Date | undefined, now: Date): { from: Date; to: Date } {
  const begun = Math.min(day.from.getTime(), oldestBegun?.getTime() ?? Infinity);
  const from = Math.max(begun, day.from.getTime() - longestAttemptMs) - clockToleranceMs;
  const to = Math.min(day.until.getTime() + clockToleranceMs, now.getTime());
  return { from: new Date(from), to: new Date(to) };
}
