import { createRequire } from 'node:module';
import type * as Language from '@zxcvbn-ts/language-common';
import type { Issue } from '../domain/issue.ts';
import { requiredIssue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** Reads a password to have; what it gives is what is hashed. `about` is what an attacker knows of its owner. */
export type ParsePassword = (text: string, field: string, about: readonly string[]) => Result<string, Issue>;

const minLength = 12;
const maxLength = 256;
/** Code units before composing: enough for 256 characters of any script, however they were typed. */
const maxTyped = 2048;
/** Words of an address shorter than this are in too many passwords by chance. */
const telling = 4;
const leastDifferent = 5;

/** Read when the first password is chosen: most cores never see one, and it takes 20 MB. */
function readCommonPasswords(): ReadonlySet<string> {
  const { dictionary } = createRequire(import.meta.url)('@zxcvbn-ts/language-common') as typeof Language;
  return new Set(dictionary['passwords-common']);
}

/** The same for every way that a keyboard may compose a character (NIST SP 800-63B, 3.1.1.2). */
export const normalPassword = (text: string): string => text.slice(0, maxTyped + 1).normalize('NFKC');

/** What is left of a word when digits and signs around it are taken away: they are the first thing tried around it. */
const bare = (text: string): string => text.replace(/^[\d\W_]+|[\d\W_]+$/g, '');

/** The shortest text that, repeated, gives this one. */
const period = (text: string): string => text.slice(0, (text + text).indexOf(text, 1));

/**
 * Long rather than intricate (NIST SP 800-63B, 3.1.1): 12 to 256 characters of any kind, but nothing that everybody tries
 * first: no common password, alone, repeated or with digits around it, no few characters repeated, nothing made of its
 * owner's own name or address.
 */
export function createPasswordRules(): ParsePassword {
  let common: ReadonlySet<string> | undefined;
  const isCommon = (text: string): boolean => (common ??= readCommonPasswords()).has(text);
  const isGuessed = (text: string, about: readonly string[]): boolean => {
    const lower = text.toLowerCase();
    const shapes = [lower, period(lower), bare(lower), period(bare(lower))];
    if (new Set(lower).size < leastDifferent || shapes.some(isCommon)) return true;
    const words = about
      .flatMap((known) => known.toLowerCase().split(/[\s@.]+/))
      .concat(about.map((known) => known.toLowerCase()));
    return words.some((word) => word.length >= telling && shapes.includes(word));
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
      return err({ field, issue: 'is one of those that are tried first; choose another, several words say' });
    return ok(password);
  };
}
