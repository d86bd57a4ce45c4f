import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The programming languages of the examples. */
export const snippetLanguages = { curl: 'sh', typescript: 'ts', python: 'py', php: 'php' } as const;
export type SnippetLanguage = keyof typeof snippetLanguages;

export const isSnippetLanguage = (text: unknown): text is SnippetLanguage =>
  typeof text === 'string' && Object.hasOwn(snippetLanguages, text);

/** Examples of one language: register an order, start a direct payment, verify an order, check a signature. */
export interface Snippets {
  readonly register: string;
  readonly direct: string;
  readonly ask: string;
  readonly verify: string;
}

/** The values in the examples: the API's address, and a payment that the merchant's wallets take. */
export interface SnippetValues {
  readonly baseUrl: string;
  /** A payment option with the channel ussd. */
  readonly option: string;
  readonly currency: string;
  readonly amount: string;
}

/** Reads the examples of a language, with these values. */
export async function readSnippets(
  language: SnippetLanguage,
  { baseUrl, option, currency, amount }: SnippetValues,
): Promise<Snippets> {
  const read = async (what: string): Promise<string> => {
    const file = `${what}.${snippetLanguages[language]}.txt`;
    const text = await readFile(join(import.meta.dirname, 'snippets', file), 'utf8');
    return text
      .replaceAll('__BASE__', baseUrl)
      .replaceAll('__OPTION__', option)
      .replaceAll('__CURRENCY__', currency)
      .replaceAll('__AMOUNT__', amount);
  };
  const [register, direct, ask, verify] = await Promise.all([
    read('register'),
    read('direct'),
    read('ask'),
    read('verify'),
  ]);
  return { register, direct, ask, verify };
}
