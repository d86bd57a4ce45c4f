import Negotiator from 'negotiator';

/**
 * The languages of the pages. The first is the default. If one is added, the compiler names all places that lack its texts. It does not name
 * the check of `core.users.language`, the names in `wallets-schema.ts`, the links to the one other language, and comparisons with 'am'.
 */
export const languages = ['en', 'am'] as const;

export type Language = (typeof languages)[number];

/** The locale of times: how each language writes them where most of its readers live. */
export const timeLocales: Readonly<Record<Language, string>> = { en: 'en-GB', am: 'am-ET' };

export const isLanguage = (text: string | undefined): text is Language =>
  languages.some((language) => language === text);

/** The known preferences of a reader. */
export interface LanguageWishes {
  /** Just chosen on this page. */
  readonly chosen?: string | undefined;
  /** Chosen earlier, and stored in a cookie. */
  readonly remembered?: string | undefined;
  /** The Accept-Language header (RFC 9110, section 12.5.4). */
  readonly accepted?: string | undefined;
}

/** Browsers send some 20 characters for each language. To read 14 kB takes milliseconds. */
const readCharacters = 1_000;

/** The language of the answer: the reader's choice, otherwise the browser's preference, otherwise English. */
export function languageFor({ chosen, remembered, accepted }: LanguageWishes): Language {
  if (isLanguage(chosen)) return chosen;
  if (isLanguage(remembered)) return remembered;
  const read = accepted?.slice(0, readCharacters);
  const preferred = new Negotiator({ headers: { 'accept-language': read } }).language([...languages]);
  return isLanguage(preferred) ? preferred : languages[0];
}
