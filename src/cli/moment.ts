import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { InvalidArgumentError, Option } from 'commander';
import { parseDuration, parseTime } from './time.ts';

/** A point in time, absolute or as an age. */
export type Moment = { readonly time: Date } | { readonly secondsAgo: bigint };

/** An option that takes 2026-01-31, 2026-01-31T08:30:00Z, or a time span such as 24h, which lies in the past. */
export const momentOption = (flags: string, description: string): Option =>
  new Option(flags, description).argParser((text): Moment => {
    const time = parseTime(text);
    if (time !== undefined) return { time };
    const secondsAgo = parseDuration(text);
    if (secondsAgo !== undefined) return { secondsAgo };
    throw new InvalidArgumentError(
      'Write it as 2026-01-31 (UTC), 2026-01-31T08:30:00Z (or +03:00), or as an age: 24h.',
    );
  });

/** The point in time. An age gives it to the second. */
export function timestampOf(moment: Moment, now: Date): Timestamp {
  if ('time' in moment) return timestampFromDate(moment.time);
  const nowSeconds = Math.floor(now.getTime() / 1000);
  return timestampFromDate(new Date((nowSeconds - Number(moment.secondsAgo)) * 1000));
}
