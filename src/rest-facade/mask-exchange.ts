import { maskPhone, maskSensitive } from '../platform/mask-sensitive.ts';
import { loggablePath } from './request-log.ts';

/** The number of characters of a body, and of a query, that are kept. */
const keptBodyLength = 4_096;
const keptQueryLength = 120;

/** The number of characters that are masked. It is larger, because masking may shorten the text. */
export const maskedLength = 3 * keptBodyLength;

/** The content of a string, up to its end or to the cut. */
const string = String.raw`(?:[^"\\]|\\.)*`;
/** A member's name that contains one of these words. Its length is bounded, so that matching is fast for any text. */
const memberNamed = (names: string): string => String.raw`"[^"]{0,40}(?:${names})[^"]{0,40}"\s{0,8}:\s{0,8}`;

/** The prefix of a key names its environment and is not secret; see api_keys.prefix. */
const apiKey = /svc_(live|test)_[\w%-]*/gi;
/** The value of a member with the name of a secret, up to its end or to the cut. */
const secretMember = new RegExp(
  `(${memberNamed('token|secret|passw|pin|credential|authorization|api_?-?key|signature')})("${string}"?|[^,}\\]\\s]+)`,
  'gi',
);
const phoneMember = new RegExp(`(${memberNamed('phone|msisdn|mobile')})("${string}"?|[^,}\\]\\s]+)`, 'gi');
/** The checkout link. A holder of the link can pay or cancel instead of the customer. */
const checkoutLink = new RegExp(String.raw`("checkout_url"\s{0,8}:\s{0,8}"${string}/)[^/"]*`, 'g');
const secretParameter =
  /([^&=]*(?:token|secret|passw|pin|credential|authorization|key|signature)[^&=]*=)[^&]*/gi;

/**
 * Nine or more digits of any script, with or without single separators, may be a phone number. The first alternative is a
 * member that contains a merchant's own reference or an amount. There, `maskSensitive` masks only exact forms of phone numbers.
 */
const phoneOrReference = new RegExp(
  String.raw`("(?:order_number|order_id|amount|deducted)"\s{0,8}:\s{0,8}"${string})|\+?\p{Nd}(?:(?:[\s().\-]|%[0-9a-f]{2}){0,2}\p{Nd}){8,}`,
  'giu',
);

/**
 * A secret that the cut has shortened is no longer recognised, so the last value is removed. It is searched from its beginning only. A
 * search from each character of a long value would take a tenth of a second, and delay all other requests.
 */
const lastValue = /(?<![^\s"{}[\],:])[^\s"{}[\],:]+$/;

const maskForms = (text: string): string =>
  maskSensitive(
    text.replace(phoneOrReference, (found, reference: string | undefined) =>
      reference === undefined ? maskDigits(found) : found,
    ),
  );

/** `+251 911 22 33 44` -> `+2519*****344`: enough for a merchant to recognise its customer. */
const maskDigits = (text: string): string => maskPhone(text.replace(/[^+\p{Nd}]/gu, ''));

/**
 * Makes a JSON text safe to store for a merchant's developers. Keys, secrets, checkout links and phone numbers are masked, in
 * members of any name and at any depth. The text is cut to 4096 characters.
 */
export function maskJson(json: string): string {
  const isCut = json.length > maskedLength;
  const masked = maskForms(
    (isCut ? json.slice(0, maskedLength) : json)
      .replace(secretMember, '$1"[masked]"')
      .replace(apiKey, 'svc_$1_[masked]')
      .replace(checkoutLink, '$1[masked]')
      .replace(phoneMember, (_found, name: string, value: string) => `${name}"${maskDigits(value)}"`),
  );
  const whole = isCut ? masked.replace(lastValue, '') : masked;
  return whole.length > keptBodyLength || isCut ? `${whole.slice(0, keptBodyLength - 1)}…` : whole;
}

/** A request's path and query, safe to store. */
export function maskTarget(url: string): string {
  const path = loggablePath(url);
  const start = url.indexOf('?');
  if (start === -1) return path;
  const query = url.slice(start + 1, start + 1 + keptQueryLength).split('#', 1)[0] ?? '';
  const masked = maskForms(query.replace(secretParameter, '$1[masked]').replace(apiKey, 'svc_$1_[masked]'));
  // A secret that the cut has shortened is no longer recognised, so the last value is removed.
  return `${path}?${url.length > start + 1 + keptQueryLength ? masked.replace(/[^&]*$/, '…') : masked}`;
}
