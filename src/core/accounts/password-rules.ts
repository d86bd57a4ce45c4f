import { createRequire } from 'node:module';
import type * as Language from '@zxcvbn-ts/language-common';
import type { Issue } from '../domain/issue.ts';
import { requiredIssue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/**
 * Parses a new password. The returned text is the one to hash. `about` contains facts about its owner that an attacker
 * knows.
 */
export type ParsePassword = (text: string, field: string, about: readonly string[]) => Result<string, Issue>;

const minLength = 12;
const maxLength = 256;
/** Code units before normalisation. This is enough for 256 characters of any script and keyboard. */
const maxTyped = 2048;
/** Shorter words of an address occur in too many passwords by chance. */
const minAddressWord = 4;
const minDistinctCharacters = 5;

/** Read at the first new password, because most cores need none and the list takes 20 MB. */
function readCommonPasswords(): ReadonlySet<string> {
  const { dictionary } = createRequire(import.meta.url)('@zxcvbn-ts/language-common') as typeof Language;
  return new Set(dictionary['passwords-common']);
}

/** The same text for every way to compose a character on a keyboard (NIST SP 800-63B, 3.1.1.2). */
export const normalPassword = (text: string): string => text.slice(0, maxTyped + 1).normalize('NFKC');

/** A word without surrounding digits and signs, which attackers add first. */
const bareWord = (text: string): string => text.replace(/^[\d\W_]+|[\d\W_]+$/g, '');

/** The shortest text whose repetition is this text. */
const repeatedPart = (text: string): string => text.slice(0, (text + text).indexOf(text, 1));

/**
 * Length counts, not complexity (NIST SP 800-63B, 3.1.1): 12 to 256 characters of any kind. Passwords that attackers
 * try first are refused. These are common passwords (alone, repeated or with digits around them), repetitions of few
 * characters, and the owner's name or address.
 */
export function createPasswordRules(): ParsePassword {
  let common: ReadonlySet<string> | undefined;
  const isCommon = (text: string): boolean => (common ??= readCommonPasswords()).has(text);
  const isGuessed = (text: string, about: readonly string[]): boolean => {
    const lower = text.toLowerCase();
    const shapes = [lower, repeatedPart(lower), bareWord(lower), repeatedPart(bareWord(lower))];
    if (new Set(lower).size < minDistinctCharacters || shapes.some(isCommon)) return true;
    const words = about
      .flatMap((known) => known.toLowerCase().split(/[\s@.]+/))
      .concat(about.map((known) => known.toLowerCase()));
    return words.some((word) => word.length >= minAddressWord && shapes.includes(word));
  };
  return (text, field, about) => {
    if (text === '') return err({ field, issue: requiredIssue });
    if (!text.isWellFormed())
      return err({ field, issue: 'must be well-formed Unicode, without lone surrogates' });
    const password = normalPassword(text);
    const { length } = [...password];
    if (length < minLength || length > maxLength || text.length > maxTyped)
      return err({ field, issue: `must be ${minLength} to ${maxLength} characters` });
    if (isGuessed(password, about))
      return err({
        field,
        issue: 'is a password that attackers try first; choose another one, for example several words',
      });
    return ok(password);
  };
}
