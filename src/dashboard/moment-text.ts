import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Language } from '../platform/language/language.ts';
import { momentText } from '../platform/language/moment-text.ts';

/** A time for the template part `time`. */
export interface Moment {
  readonly iso: string;
  readonly text: string;
}

/** A time in a language and time zone, to the minute; undefined when absent. */
export function momentOf(
  timestamp: Timestamp | undefined,
  language: Language,
  timeZone: string,
): Moment | undefined {
  if (timestamp === undefined) return undefined;
  const date = timestampDate(timestamp);
  return { iso: date.toISOString(), text: momentText(date, language, timeZone) };
}
