/** The separators that people write between the digits of a phone number, such as `+251 (91) 122-33.44`. */
const separators = /[\s\-().\u00a0/\u2000-\u2015\u202a-\u202e\u2060-\u2069]/g;

/** Digits of Arabic keyboards. The last four bits of each are its value. */
const arabicDigits = /[\u0660-\u0669\u06f0-\u06f9]/g;

/**
 * A phone number that a person typed or pasted, in the form of the API: without separators, with the digits 0 to 9, with a plus instead of
 * `00`, and without the zero between the country code of Ethiopia and the number. A text in no known form keeps its other characters.
 */
export const typedPhone = (phone: string): string =>
  phone
    .normalize('NFKC')
    .replace(separators, '')
    .replace(arabicDigits, (digit) => String(digit.charCodeAt(0) & 0xf))
    .replace(/^00/, '+')
    .replace(/^(\+?251)0(?=[79])/, '$1');
