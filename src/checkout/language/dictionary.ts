import { amharic } from './amharic.ts';
import { english } from './english.ts';
import type { Language } from '../../platform/language/language.ts';
import type { Messages } from './messages.ts';

const dictionary: Readonly<Record<Language, Messages>> = { en: english, am: amharic };

/** The texts of a language. */
export const messagesIn = (language: Language): Messages => dictionary[language];
