/**
 * What is wrong with one field of a request, in words that reach the merchant: lower-case start, no full stop, no name
 * of the field, and saying what to do about it.
 */
export interface Issue {
  readonly field: string;
  readonly issue: string;
}

/** The issue of a required field that is empty or was not sent. */
export const requiredIssue = 'is required';
