import { DateTime } from 'luxon';

/** A day in a time zone: from its beginning until before `to`. It has 23 or 25 hours when summer time begins or ends. */
export interface LocalDay {
  readonly from: Date;
  readonly to: Date;
}

/** The times that a request can have: the range of protobuf's Timestamp. */
const firstMs = Date.parse('0001-01-01T00:00:00Z');
const lastMs = Date.parse('9999-12-31T23:59:59Z');
const isInRange = (at: Date): boolean => at.getTime() >= firstMs && at.getTime() <= lastMs;

/** When the day of `at` begins. A day has two midnights where clocks go back then, and luxon finds either of them. */
function beginningOf(at: DateTime): Date {
  const midnight = at.startOf('day');
  const hourBefore = midnight.minus({ hours: 1 });
  return (hourBefore.toISODate() === midnight.toISODate() ? hourBefore : midnight).toJSDate();
}

/** The last `count` days as one span, ending with the day of `at`. */
export function latestDays(at: Date, count: number, timeZone: string): LocalDay {
  const today = DateTime.fromJSDate(at, { zone: timeZone }).startOf('day');
  const begin = (days: number): Date => beginningOf(today.plus({ days }));
  return { from: begin(1 - count), to: begin(1) };
}

/** The day before that of `at`. */
export function dayBefore(at: Date, timeZone: string): LocalDay {
  const today = DateTime.fromJSDate(at, { zone: timeZone }).startOf('day');
  return { from: beginningOf(today.minus({ days: 1 })), to: beginningOf(today) };
}

/** The calendar month before that of `at`, as one span. */
export function monthBefore(at: Date, timeZone: string): LocalDay {
  const month = DateTime.fromJSDate(at, { zone: timeZone }).startOf('month');
  return { from: beginningOf(month.minus({ months: 1 })), to: beginningOf(month) };
}

/** The day of a time in a time zone, such as 2026-11-21. */
export const dayText = (at: Date, timeZone: string): string =>
  DateTime.fromJSDate(at, { zone: timeZone }).toFormat('yyyy-MM-dd');

/** A time zone with its offset at a time: `Africa/Addis_Ababa (UTC+03:00)`. */
export const zoneText = (timeZone: string, at: Date): string =>
  `${timeZone} (UTC${DateTime.fromJSDate(at, { zone: timeZone }).toFormat('ZZ')})`;

/** A day such as 2026-11-21 in a time zone; undefined when invalid or outside the years 1 to 9999 in UTC. */
export function dayNamed(text: string, timeZone: string): LocalDay | undefined {
  const day = DateTime.fromFormat(text, 'yyyy-MM-dd', { zone: timeZone });
  if (!day.isValid) return undefined;
  const from = beginningOf(day);
  const to = beginningOf(day.plus({ days: 1 }));
  return isInRange(from) && isInRange(to) ? { from, to } : undefined;
}

/** Whether both ends are given and no time lies between them. */
export const isEmptySpan = (from: Date | undefined, to: Date | undefined): boolean =>
  from !== undefined && to !== undefined && from >= to;

/** A time in the form of HTML's "local date and time", in a time zone; undefined as for `dayNamed`. */
export function timeNamed(text: string, timeZone: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return undefined;
  const time = DateTime.fromISO(text, { zone: timeZone });
  return time.isValid && isInRange(time.toJSDate()) ? time.toJSDate() : undefined;
}
