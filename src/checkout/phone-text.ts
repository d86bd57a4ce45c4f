/** What people put between the digits of a phone number to read it by. */
const separators = /[\s\-().\u00a0\u2000-\u200f\u202a-\u202e\u2060-\u2069]/g;

/** A phone number as it was typed or pasted, without what core does not take for a part of it. */
export const withoutSeparators = (phone: string): string => phone.replace(separators, '');

/**
 * An E.164 number of Ethiopia in the groups it is read in there: `+251 91 122 3344`, kept on one line. Others as they
 * are.
 */
export function readablePhone(e164: string): string {
  const national = /^\+251([79][0-9])([0-9]{3})([0-9]{4})$/.exec(e164);
  return national === null ? e164 : `+251\u00a0${national.slice(1).join('\u00a0')}`;
}
