import type { Wallet } from '../gen/gatehouse/v1/wallet_service_pb.js';

/** The separators that people write between the digits of a phone number. */
const separators = /[\s\-().\u00a0\u2000-\u2015\u202a-\u202e\u2060-\u2069]/g;

const withoutSeparators = (phone: string): string => phone.replace(separators, '');

/** Digits of Arabic keyboards. The last four bits of each are its value. */
const arabicDigits = /[\u0660-\u0669\u06f0-\u06f9]/g;

/**
 * A typed or pasted phone number in a form that core accepts: without separators, with the digits 0 to 9, with a plus instead of `00`, and
 * without the zero between the country code of Ethiopia and the number. A text in no known form stays as it is, and core refuses it.
 */
export const typedPhone = (phone: string): string =>
  withoutSeparators(phone.normalize('NFKC'))
    .replace(arabicDigits, (digit) => String(digit.charCodeAt(0) & 0xf))
    .replace(/^00/, '+')
    .replace(/^(\+?251)0(?=[79])/, '$1');

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

/**
 * How the phone numbers of an option outside of Ethiopia begin, such as `+2547…`. Undefined for the others: an Ethiopian number needs no country
 * code, and of a wallet without prefixes the country is not known.
 */
export function foreignStart(
  option: string,
  wallets: readonly Pick<Wallet, 'paymentOptions' | 'phonePrefixes'>[],
): string | undefined {
  const prefixes = wallets.find(({ paymentOptions }) => paymentOptions.includes(option))?.phonePrefixes ?? [];
  const [first] = prefixes;
  const isEthiopian = prefixes.some((prefix) => prefix.startsWith('+251'));
  return first === undefined || isEthiopian ? undefined : `${first}…`;
}
