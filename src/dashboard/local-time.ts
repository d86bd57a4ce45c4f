import { DateTime } from 'luxon';

/** A day in a time zone: from its beginning until before `to`. It has 23 or 25 hours when summer time begins or ends. */
export interface LocalDay {
  readonly from: Date;
  readonly to: Date;
}

/** The last `count` days as one span, ending with the day of `at`. */
export function latestDays(at: Date, count: number, timeZone: string): LocalDay {
  const today = DateTime.fromJSDate(at, { zone: timeZone }).startOf('day');
  const begin = (days: number): Date => today.plus({ days }).startOf('day').toJSDate();
  return { from: begin(1 - count), to: begin(1) };
}

/** A day such as 2026-11-21 in a time zone; undefined when invalid. */
export function dayNamed(text: string, timeZone: string): LocalDay | undefined {
  const day = DateTime.fromFormat(text, 'yyyy-MM-dd', { zone: timeZone });
  if (!day.isValid) return undefined;
  return { from: day.startOf('day').toJSDate(), to: day.plus({ days: 1 }).startOf('day').toJSDate() };
}

/** A time in the form of HTML's "local date and time", in a time zone; undefined when invalid. */
export function timeNamed(text: string, timeZone: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return undefined;
  const time = DateTime.fromISO(text, { zone: timeZone });
  return time.isValid ? time.toJSDate() : undefined;
}
