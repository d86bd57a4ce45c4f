/** The separators that people write between the digits of a phone number. */
const separators = /[\s\-().\u00a0\u2000-\u2015\u202a-\u202e\u2060-\u2069]/g;

/** Removes the separators of a typed or pasted phone number, because core accepts none. */
export const withoutSeparators = (phone: string): string => phone.replace(separators, '');

/** The groups of an Ethiopian mobile number, in any form that core accepts. */
const ethiopianMobile = /^(?:\+?251|0)?([79][0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})$/;

/**
 * A phone number as all pages show it: an Ethiopian mobile number in any form as `0911 22 33 44`, with non-breaking spaces. Other numbers
 * are unchanged.
 */
export function readablePhone(phone: string): string {
  const [, start, ...groups] = ethiopianMobile.exec(withoutSeparators(phone)) ?? [];
  return start === undefined ? phone : [`0${start}`, ...groups].join('\u00a0');
}

/** Like `readablePhone`, with only the first and the last two digits, so that the payer can recognise the number. */
export function maskedPhone(phone: string): string {
  const readable = readablePhone(phone);
  const digits = readable.match(/[0-9]/g)?.length ?? 0;
  let index = 0;
  return readable.replace(/[0-9]/g, (digit) => {
    index += 1;
    return index <= 2 || index > digits - 2 ? digit : '•';
  });
}

/** The number in E.164 form with its plus, for comparing prefixes; '' for a number that is neither Ethiopian nor international. */
export function internationalPhone(phone: string): string {
  const digits = withoutSeparators(phone);
  const [, start, ...groups] = ethiopianMobile.exec(digits) ?? [];
  if (start !== undefined) return `+251${[start, ...groups].join('')}`;
  return digits.startsWith('+') ? digits : '';
}
