import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { requiredIssue } from '../domain/issue.ts';
import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** The range of protobuf's Timestamp: years 1 to 9999. */
const firstSecond = -62_135_596_800n;
const lastSecond = 253_402_300_799n;

/** Parses an optional time. */
export function parseTime(time: Timestamp | undefined, field: string): Result<Date | undefined, Issue> {
  if (time === undefined) return ok(undefined);
  if (time.seconds < firstSecond || time.seconds > lastSecond) {
    return err({ field, issue: 'must be a time between the years 1 and 9999' });
  }
  return ok(timestampDate(time));
}

/** As `parseTime`, for the end of a span. Issue: `from` is not earlier, so that no time is in the span. */
export function parseEnd(
  time: Timestamp | undefined,
  field: string,
  { from, fromField }: { readonly from: Timestamp | undefined; readonly fromField: string },
): Result<Date | undefined, Issue> {
  const end = parseTime(time, field);
  const begin = parseTime(from, fromField);
  const isEmpty =
    end.ok && begin.ok && end.value !== undefined && begin.value !== undefined && begin.value >= end.value;
  return isEmpty ? err({ field, issue: `must be later than ${fromField}` }) : end;
}

/** As `parseTime`, for required fields. */
export function parseRequiredTime(time: Timestamp | undefined, field: string): Result<Date, Issue> {
  const parsed = parseTime(time, field);
  if (!parsed.ok) return parsed;
  return parsed.value === undefined ? err({ field, issue: requiredIssue }) : ok(parsed.value);
}

/** A time as part of the filters that a page token is valid for. */
export const timeKey = (time: Timestamp | undefined): string =>
  time === undefined ? '' : `${time.seconds}.${time.nanos}`;
