const dayMs = 24 * 60 * 60_000;

/** The tolerated difference between a wallet's clock and ours, so that a payment is found on both sides of midnight. */
const clockToleranceMs = 10 * 60_000;

/** Whether a statement that was read until `readUntil` must contain an event that was recorded here at this time. The wallet's clock may be ahead. */
export const mustContain = (readUntil: Date, recordedAt: Date): boolean =>
  recordedAt.getTime() <= readUntil.getTime() - clockToleranceMs;

/** The limit for the start of a payment before its day, because a statement needs a bounded period. */
const longestAttemptMs = 7 * dayMs;

/** Whether a statement that reaches back so far still contains a whole day. */
export const isInReach = ({ from }: Day, now: Date, reachMs = Infinity): boolean =>
  from.getTime() - clockToleranceMs >= now.getTime() - reachMs;

/** The earliest start of a statement's period for this day, apart from the tolerance for clocks. */
export const earliestStart = (day: Day): Date => new Date(day.from.getTime() - longestAttemptMs);

/** The reach of a statement moves on while it is read. */
const readingMs = 2 * clockToleranceMs;

/** How long after midnight, UTC, a wallet's statement of the day counts as complete. */
export const settleMs = 60 * 60_000;

/** One UTC day: from its first instant to the first instant of the next. */
export interface Day {
  readonly from: Date;
  readonly until: Date;
}

/** Parses a date such as 2026-01-31; undefined for an invalid one. */
export function parseDay(date: string): Day | undefined {
  if (!/^20[0-9]{2}-[0-9]{2}-[0-9]{2}$/.test(date)) return undefined;
  const from = new Date(`${date}T00:00:00Z`);
  // 31 February would become a day in March.
  if (Number.isNaN(from.getTime()) || dateOf(from) !== date) return undefined;
  return { from, until: new Date(from.getTime() + dayMs) };
}

/** The day of a valid date. Throws RangeError for an invalid one. */
export function dayOf(date: string): Day {
  const day = parseDay(date);
  if (day === undefined) throw new RangeError(`${JSON.stringify(date)} is no date`);
  return day;
}

/** The date, UTC, of an instant. */
export const dateOf = (at: Date): string => at.toISOString().slice(0, 10);

/** Whether an event belongs to the day. An event without a time does. */
export const isOn = (day: Day, at: Date | null): boolean => at === null || (at >= day.from && at < day.until);

/**
 * The period of a statement that contains the day's payments. Wallets date a payment by its start, while Gatehouse
 * dates it by its end. So the period begins at the start of the oldest payment that ended on the day, as far as the statement
 * reaches back. It always contains the whole day, so that a day that the statement no longer covers is not compared in part.
 */
export function periodToRead(
  day: Day,
  oldestBegun: Date | undefined,
  now: Date,
  reachMs = Infinity,
): { from: Date; to: Date } {
  const begun = Math.min(day.from.getTime(), oldestBegun?.getTime() ?? Infinity);
  const earliest = Math.max(earliestStart(day).getTime(), now.getTime() - reachMs + readingMs);
  const from = Math.min(day.from.getTime(), Math.max(begun, earliest)) - clockToleranceMs;
  const to = Math.min(day.until.getTime() + clockToleranceMs, now.getTime());
  return { from: new Date(from), to: new Date(to) };
}
