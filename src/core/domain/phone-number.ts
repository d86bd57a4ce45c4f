import { type Issue, requiredIssue } from './issue.ts';
import { type Result, err, ok } from './result.ts';

/** A customer's phone number. */
export interface PhoneNumber {
  /** Exactly as the merchant sent it, for answers to the merchant. */
  readonly asGiven: string;
  /** ITU-T E.164 with its plus, for wallets and for comparisons. */
  readonly e164: string;
}

/** An Ethiopian mobile number, with or without the country code or the trunk zero; group 1 is the national number. */
const ethiopianMobile = /^(?:\+?251|0)?([79][0-9]{8})$/;

/** E.164: a country code that does not start with zero, at most 15 digits. No valid number has fewer than 7. */
const international = /^\+[1-9][0-9]{6,14}$/;

export const PhoneNumber = {
  /**
   * Reads a phone number: an Ethiopian mobile number in local or international form, or any E.164 number with its plus.
   * Issue: empty, or in neither form. A +251 number must be a mobile number. Spaces and dashes are not accepted.
   */
  parse(text: string, field: string): Result<PhoneNumber, Issue> {
    if (text === '') return err({ field, issue: requiredIssue });
    const national = ethiopianMobile.exec(text)?.[1];
    if (national !== undefined) return ok({ asGiven: text, e164: `+251${national}` });
    if (international.test(text) && !text.startsWith('+251')) return ok({ asGiven: text, e164: text });
    return err({
      field,
      issue:
        'must be an Ethiopian mobile number such as 0911223344, or an international one with its leading +',
    });
  },
};
