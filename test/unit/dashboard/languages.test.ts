import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { wallets } from '../../../src/dashboard/language/amharic/wallets.ts';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { merchantFields } from '../../../src/wallets/merchant-account.ts';

const folder = join(import.meta.dirname, '../../../src/dashboard/language');
const areas = readdirSync(join(folder, 'english'));

type Words = Readonly<Record<string, unknown>>;

async function wordsOf(language: string, area: string): Promise<Words> {
  return (await import(join(folder, language, area))) as Words;
}

/** Every text by its path. A function is called with as many marks as it has parameters. */
function textsOf(words: unknown, path = ''): [string, string][] {
  if (typeof words === 'string') return [[path, words]];
  if (typeof words === 'function') {
    const marks = Array.from({ length: words.length }, (_value, index) => index + 2);
    return [[path, String(Reflect.apply(words, undefined, marks))]];
  }
  if (typeof words !== 'object' || words === null) return [];
  return Object.entries(words).flatMap(([name, value]) => textsOf(value, `${path}.${name}`));
}

/** Empty tables: in English, core's own sentences are shown, and other languages have texts of their own. */
function emptyTablesOf(words: unknown, path = ''): string[] {
  if (typeof words !== 'object' || words === null) return [];
  const entries = Object.entries(words);
  if (entries.length === 0) return [path];
  return entries.flatMap(([name, value]) => emptyTablesOf(value, `${path}.${name}`));
}

/** The result of each function of the words when every argument is one. */
function textsOfOne(words: unknown): string[] {
  if (typeof words === 'function')
    return [
      String(
        Reflect.apply(
          words,
          undefined,
          Array.from({ length: words.length }, () => '1'),
        ),
      ),
    ];
  return typeof words === 'object' && words !== null ? Object.values(words).flatMap(textsOfOne) : [];
}

test.each(areas)('%s: English texts use the singular for one', async (area) => {
  const texts = textsOfOne(await wordsOf('english', area));

  expect(
    texts.filter((text) => /\b1 (?!ms\b|as\b|is\b|was\b|has\b)[a-z]+s\b|\b1 are left\b/.test(text)),
  ).toEqual([]);
});

test('each area has its words in both languages', () => {
  expect(readdirSync(join(folder, 'amharic'))).toEqual(areas);
});

test('each setting of an own wallet account has its help in Amharic', () => {
  const names = connectorKinds.flatMap((kind) => merchantFields(kind).map(({ name }) => name));

  expect(new Set(Object.keys(wallets.own.add.fieldHelp))).toEqual(new Set(names));
});

describe.each(areas)('%s', (area) => {
  test('has the same texts in both languages, except for texts of core in English, and no empty one', async () => {
    const [english, amharic] = await Promise.all([wordsOf('english', area), wordsOf('amharic', area)]);

    const paths = (words: Words): string[] => textsOf(words).map(([path]) => path);
    const saidByCore = emptyTablesOf(english);
    const isOwn = (path: string): boolean => !saidByCore.some((table) => path.startsWith(`${table}.`));
    expect(paths(amharic).filter(isOwn)).toEqual(paths(english));
    for (const table of saidByCore)
      expect(paths(amharic).some((path) => path.startsWith(`${table}.`))).toBe(true);
    expect([...textsOf(english), ...textsOf(amharic)].filter(([, text]) => text.trim() === '')).toEqual([]);
  });
});
