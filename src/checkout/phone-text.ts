/** What people put between the digits of a phone number to read it by. */
const separators = /[\s\-().\u00a0\u2000-\u200f\u202a-\u202e\u2060-\u2069]/g;

/** A phone number as it was typed or pasted, without what core does not take for a part of it. */
export const withoutSeparators = (phone: string): string => phone.replace(separators, '');

/** The national number of an Ethiopian mobile phone in its groups, from any form that core takes. */
const ethiopianMobile = /^(?:\+?251|0)?([79][0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})$/;

/**
 * A phone number in the one form of all pages, kept on one line: `0911 22 33 44` for an Ethiopian mobile phone, however
 * it was given. Another number stays as it is.
 */
export function readablePhone(phone: string): string {
  const [, start, ...groups] = ethiopianMobile.exec(withoutSeparators(phone)) ?? [];
  return start === undefined ? phone : [`0${start}`, ...groups].join('\u00a0');
}

/** As `readablePhone`, with the first and the last two digits alone: enough for the payer to recognise the number. */
export function maskedPhone(phone: string): string {
  const readable = readablePhone(phone);
  const digits = readable.match(/[0-9]/g)?.length ?? 0;
  let index = 0;
  return readable.replace(/[0-9]/g, (digit) => {
    index += 1;
    return index <= 2 || index > digits - 2 ? digit : '•';
  });
}
