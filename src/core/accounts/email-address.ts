import type { Issue } from '../domain/issue.ts';
import { requiredIssue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';

/** An e-mail address for sign-in. */
export interface EmailAddress {
  /** The address as entered. */
  readonly text: string;
  /** The address in lower case, for comparison. */
  readonly key: string;
}

/** RFC 5321, 4.5.3.1: 64 for the local part; 254 for the whole (RFC 3696, erratum 1690). */
const maxLength = 254;
/**
 * A dot-atom (RFC 5322, 3.2.3) at a host name of labels with at most 63 characters (RFC 1035, 2.3.4). Quoted local parts and
 * address literals are not accepted. The last label has a character that is no digit, because no top-level domain is numeric (RFC 3696, 2).
 * Mail servers such as Postfix reject `a@192.0.2.1` and `a@123`.
 */
const form =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*(?![0-9]+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/** Parses an e-mail address. Issue: empty, longer than 254 characters, or not of the form name@host. */
export function parseEmail(text: string): Result<EmailAddress, Issue> {
  const field = 'email';
  if (text === '') return err({ field, issue: requiredIssue });
  if (text.length > maxLength || !form.test(text))
    return err({
      field,
      issue: 'must be an e-mail address such as abebe@shop.example, of at most 254 characters',
    });
  return ok({ text, key: text.toLowerCase() });
}
