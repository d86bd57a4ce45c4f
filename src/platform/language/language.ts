import Negotiator from 'negotiator';

/** The languages of the pages, the one for readers of neither first. */
export const languages = ['en', 'am'] as const;

export type Language = (typeof languages)[number];

export const isLanguage = (text: string | undefined): text is Language =>
  languages.some((language) => language === text);

/** What is known of a reader's language. */
export interface LanguageWishes {
  /** Chosen on this page just now. */
  readonly chosen?: string | undefined;
  /** Chosen earlier, and kept in a cookie. */
  readonly remembered?: string | undefined;
  /** The Accept-Language header (RFC 9110, section 12.5.4). */
  readonly accepted?: string | undefined;
}

/** The language to answer in: what the reader chose, else what the browser prefers, else English. */
export function languageFor({ chosen, remembered, accepted }: LanguageWishes): Language {
  if (isLanguage(chosen)) return chosen;
  if (isLanguage(remembered)) return remembered;
  const preferred = new Negotiator({ headers: { 'accept-language': accepted } }).language([...languages]);
  return isLanguage(preferred) ? preferred : languages[0];
}
