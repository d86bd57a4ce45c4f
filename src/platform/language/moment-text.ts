import type { Language } from './language.ts';

/** A time in a language and a time zone, to the minute: `22 Nov 2026, 08:02`. */
export function momentText(date: Date, language: Language, timeZone: string): string {
  const format = new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : 'am-ET', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone,
  });
  return format.format(date);
}
