import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';

/** A time to the second, UTC, as ISO 8601: 2026-01-31T08:30:00Z. `absent` when there is none. */
export const showTime = (time: Timestamp | undefined, absent = ''): string =>
  time === undefined
    ? absent
    : timestampDate(time)
        .toISOString()
        .replace(/\.\d+Z$/, 'Z');

/** A time to the millisecond, UTC, for events that follow each other within a second. */
export const showInstant = (time: Timestamp | undefined): string =>
  time === undefined ? '' : timestampDate(time).toISOString();

const unitSeconds = { d: 86_400n, h: 3_600n, m: 60n, s: 1n } as const;

/** A time span in days, hours, minutes and seconds, as `parseDuration` reads it: 1h30m. */
export function showDuration(duration: Duration | undefined): string {
  let rest = duration?.seconds ?? 0n;
  let text = '';
  for (const [unit, seconds] of Object.entries(unitSeconds)) {
    if (rest >= seconds) text += `${rest / seconds}${unit}`;
    rest %= seconds;
  }
  return text === '' ? '0s' : text;
}

/** Seconds of a time span such as 30m, 24h, 7d or 1h30m; undefined for any other text. */
export function parseDuration(text: string): bigint | undefined {
  const match = /^(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s)?$/.exec(text);
  if (match === null || text === '') return undefined;
  return Object.values(unitSeconds).reduce(
    (sum, seconds, index) => sum + seconds * BigInt(match[index + 1] ?? 0),
    0n,
  );
}

/** A point in time: 2026-01-31 (its beginning, UTC) or with a time and its zone; undefined for any other text. */
export function parseTime(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/i.test(text)) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return undefined;
  // Date reads 31 February as a day in March.
  const day = text.slice(0, 10);
  return new Date(day).toISOString().startsWith(day) ? time : undefined;
}
