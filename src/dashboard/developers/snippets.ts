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

/** Reads the examples of a language, for the API at `baseUrl`. */
export async function readSnippets(language: SnippetLanguage, baseUrl: string): Promise<Snippets> {
  const read = async (what: string): Promise<string> => {
    const file = `${what}.${snippetLanguages[language]}.txt`;
    const text = await readFile(join(import.meta.dirname, 'snippets', file), 'utf8');
    return text.replaceAll('__BASE__', baseUrl);
  };
  const [register, direct, ask, verify] = await Promise.all([
    read('register'),
    read('direct'),
    read('ask'),
    read('verify'),
  ]);
  return { register, direct, ask, verify };
}
