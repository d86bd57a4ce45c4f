import type { Language } from './language.ts';
import { timeFormat } from './formats.ts';

/** Writes times, in milliseconds since 1970 or as dates. */
export interface MomentFormat {
  readonly format: (at: Date | number) => string;
}

/**
 * Times in a language and a time zone: `22 Nov 2026, 08:02`, with seconds for the style `medium`. Both languages count 24 hours.
 * Readers of Amharic would take `2:45` of a clock with 12 hours for 8:45, because the Ethiopian clock begins at sunrise.
 */
export function momentFormat(
  language: Language,
  timeZone: string,
  timeStyle: 'short' | 'medium' = 'short',
): MomentFormat {
  if (language === 'en') return timeFormat('en-GB', { dateStyle: 'medium', timeStyle, timeZone });
  // Together with 24 hours, Intl would write the month before the day.
  const date = timeFormat('am-ET', { dateStyle: 'medium', timeZone });
  const time = timeFormat('am-ET', { timeStyle, hourCycle: 'h23', timeZone });
  return { format: (at) => `${date.format(at)} ${time.format(at)}` };
}

/** A time to the minute. */
export const momentText = (date: Date, language: Language, timeZone: string): string =>
  momentFormat(language, timeZone).format(date);
