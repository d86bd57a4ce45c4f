import { typedPhone } from '../contract/typed-phone.ts';
import type { Wallet } from '../gen/gatehouse/v1/wallet_service_pb.js';

/** The groups of an Ethiopian mobile number, in any form that core accepts. */
const ethiopianMobile = /^(?:\+?251|0)?([79][0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})$/;

/**
 * A phone number as all pages show it: an Ethiopian mobile number in any form as `0911 22 33 44`, with non-breaking spaces. Other numbers
 * are unchanged.
 */
export function readablePhone(phone: string): string {
  const [, start, ...groups] = ethiopianMobile.exec(typedPhone(phone)) ?? [];
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
  const digits = typedPhone(phone);
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
