import { type Issue, requiredIssue } from './issue.ts';
import { type Result, err, ok } from './result.ts';

/** The rules for a text that is shown to people. */
export interface TextRules {
  /** Unicode code points at most. */
  readonly max: number;
  /** Whether the text must not be blank. If it is optional, '' stands for a missing text. */
  readonly required: boolean;
}

/** Unicode Cc: C0 (NUL and line breaks among them), DEL and C1. */
const controlCharacter = /\p{Cc}/u;

/** Embeddings, overrides and isolates (UAX #9), which can make a text appear as another text. */
const bidiControl = /[\u202a-\u202e\u2066-\u2069]/;

/** Spaces of any script and invisible characters, such as U+200B. */
const blank = /^[\s\p{Default_Ignorable_Code_Point}]*$/u;

/**
 * Reads a text that is shown to people, kept exactly as sent.
 * Issue: empty or blank though required, a lone surrogate, a control or bidirectional control character, or too long.
 */
export function parseText(text: string, field: string, { max, required }: TextRules): Result<string, Issue> {
  const refuse = (issue: string): Result<string, Issue> => err({ field, issue });
  if (required && text === '') return refuse(requiredIssue);
  if (!text.isWellFormed()) return refuse('must be well-formed Unicode, without lone surrogates');
  if (controlCharacter.test(text)) return refuse('must not contain control characters, such as line breaks');
  if (bidiControl.test(text)) {
    return refuse('must not contain bidirectional control characters (U+202A to U+202E, U+2066 to U+2069)');
  }
  if (required && blank.test(text)) return refuse('must not be blank');
  // A code point has at most two units. A much longer text need not be split to be counted.
  if (text.length > 2 * max || (text.length > max && [...text].length > max))
    return refuse(`must be at most ${max} characters`);
  return ok(text);
}
