/**
 * A problem with one field of a request, in words for the merchant. The text starts in lower case, has no full stop, does not
 * name the field, and tells how to correct it.
 */
export interface Issue {
  readonly field: string;
  readonly issue: string;
}

/** The issue of a required field that is empty or was not sent. */
export const requiredIssue = 'is required';
