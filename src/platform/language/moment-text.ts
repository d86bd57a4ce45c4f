import { timeLocales } from './language.ts';
import type { Language } from './language.ts';
import { timeFormat } from './formats.ts';

/** Writes times, in milliseconds since 1970 or as dates. */
export interface MomentFormat {
  readonly format: (at: Date | number) => string;
}

type TimeStyle = 'short' | 'medium';

/**
 * Both languages count 24 hours. Readers of Amharic would take `2:45` of a clock with 12 hours for 8:45, because the Ethiopian clock begins
 * at sunrise.
 */
const momentFormats: Readonly<Record<Language, (timeZone: string, timeStyle: TimeStyle) => MomentFormat>> = {
  en: (timeZone, timeStyle) => timeFormat(timeLocales.en, { dateStyle: 'medium', timeStyle, timeZone }),
  am: (timeZone, timeStyle) => {
    // Together with 24 hours, Intl would write the month before the day.
    const date = timeFormat(timeLocales.am, { dateStyle: 'medium', timeZone });
    const time = timeFormat(timeLocales.am, { timeStyle, hourCycle: 'h23', timeZone });
    return { format: (at) => `${date.format(at)} ${time.format(at)}` };
  },
};

/** Times in a language and a time zone: `22 Nov 2026, 08:02`, with seconds for the style `medium`. */
export const momentFormat = (
  language: Language,
  timeZone: string,
  timeStyle: TimeStyle = 'short',
): MomentFormat => momentFormats[language](timeZone, timeStyle);

/** A time to the minute. */
export const momentText = (date: Date, language: Language, timeZone: string): string =>
  momentFormat(language, timeZone).format(date);
