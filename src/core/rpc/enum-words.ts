import type { Issue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** The contract's number of each word of the domain. */
type Numbers<Word extends string> = Readonly<Record<Word, number>>;

const wordsOf = <Word extends string>(numbers: Numbers<Word>): Word[] => Object.keys(numbers) as Word[];

/** The word of a number; undefined for UNSPECIFIED and for numbers unknown to this version. */
export const wordOf = <Word extends string>(numbers: Numbers<Word>, number: number): Word | undefined =>
  wordsOf(numbers).find((word) => numbers[word] === number);

/** Parses the numbers of a filter. Issue: one of them has no word. */
export const parseEnumWords = <Word extends string>(
  numbers: Numbers<Word>,
  given: readonly number[],
  field: string,
): Result<Word[], Issue> =>
  parseWords(given, (number) => wordOf(numbers, number), {
    field,
    issue: `must be ${wordsOf(numbers).join(', ')}`,
  });

/** Parses the values of a filter into different words, because 100,000 repeated ones would fill a statement. */
export function parseWords<Given, Word>(
  given: readonly Given[],
  wordOf: (value: Given) => Word | undefined,
  issue: Issue,
): Result<Word[], Issue> {
  const different = [...new Set(given)];
  const known = different.map(wordOf).filter((word) => word !== undefined);
  return known.length < different.length ? err(issue) : ok(known);
}
