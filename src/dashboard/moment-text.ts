import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type { Language } from '../runtime/language/language.ts';

/** A time as a page shows it, by the part `time`. */
export interface Moment {
  readonly iso: string;
  readonly text: string;
}

/** A time in words of a language and in a time zone, to the minute; undefined for one that is absent. */
export function momentOf(
  timestamp: Timestamp | undefined,
  language: Language,
  timeZone: string,
): Moment | undefined {
  if (timestamp === undefined) return undefined;
  const date = timestampDate(timestamp);
  const format = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : 'am-ET', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone,
  });
  return { iso: date.toISOString(), text: format.format(date) };
}
