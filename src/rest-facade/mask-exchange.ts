import { maskPhone, maskSensitive } from '../platform/mask-sensitive.ts';
import { loggablePath } from './request-log.ts';

/** Characters of a body, and of a query, that are kept. */
export const keptBodyLength = 4_096;
const keptQueryLength = 120;

/** So much more is looked at than is kept, since masking may shorten it. */
const lookedAtLength = 3 * keptBodyLength;

/** The inside of a string, up to its end or to where the text was cut. */
const string = String.raw`(?:[^"\\]|\\.)*`;
/** A member's name with one of these in it. Bounded, so that no text takes long to look through. */
const named = (names: string): string => String.raw`"[^"]{0,40}(?:${names})[^"]{0,40}"\s{0,8}:\s{0,8}`;

/** The beginning of a key says which environment it is for and is no secret; see api_keys.prefix. */
const apiKey = /svc_(live|test)_[\w%-]*/gi;
/** A value that is named like a secret, to its end, or to where the text was cut. */
const secretMember = new RegExp(
  `(${named('token|secret|passw|pin|credential|authorization|api_?-?key|signature')})("${string}"?|[^,}\\]\\s]+)`,
  'gi',
);
const phoneMember = new RegExp(`(${named('phone|msisdn|mobile')})("${string}"?|[^,}\\]\\s]+)`, 'gi');
/** Whoever has it can pay, or cancel, in the customer's place. */
const checkoutLink = new RegExp(String.raw`("checkout_url"\s{0,8}:\s{0,8}"${string}/)[^/"]*`, 'g');
const secretParameter =
  /([^&=]*(?:token|secret|passw|pin|credential|authorization|key|signature)[^&=]*=)[^&]*/gi;

/**
 * Nine digits or more, of whatever script, with single separators between them or not: a phone number, perhaps. The
 * first alternative is a member whose digits are a merchant's own reference or an amount: `maskSensitive` masks there
 * what has the very form of a phone number.
 */
const phoneOrReference = new RegExp(
  String.raw`("(?:order_number|order_id|amount|deducted)"\s{0,8}:\s{0,8}"${string})|\+?\p{Nd}(?:(?:[\s().\-]|%[0-9a-f]{2}){0,2}\p{Nd}){8,}`,
  'giu',
);

const maskForms = (text: string): string =>
  maskSensitive(
    text.replace(phoneOrReference, (found, reference: string | undefined) =>
      reference === undefined ? maskDigits(found) : found,
    ),
  );

/** `+251 911 22 33 44` -> `+2519*****344`: enough to recognise one's own customer by. */
const maskDigits = (text: string): string => maskPhone(text.replace(/[^+\p{Nd}]/gu, ''));

/**
 * A JSON text fit to be kept for a merchant's developers to read: without keys, secrets and checkout links, phone numbers
 * masked, whatever they are called and wherever they stand; cut to 4096 characters.
 */
export function maskJson(json: string): string {
  const isCut = json.length > lookedAtLength;
  const masked = maskForms(
    (isCut ? json.slice(0, lookedAtLength) : json)
      .replace(secretMember, '$1"[masked]"')
      .replace(apiKey, 'svc_$1_[masked]')
      .replace(checkoutLink, '$1[masked]')
      .replace(phoneMember, (_found, name: string, value: string) => `${name}"${maskDigits(value)}"`),
  );
  // What lay across the cut may not look like what it is.
  const whole = isCut ? masked.replace(/[^\s"{}[\],:]*$/, '') : masked;
  return whole.length > keptBodyLength || isCut ? `${whole.slice(0, keptBodyLength - 1)}…` : whole;
}

/** A request's path as it may be kept, with its query. */
export function maskTarget(url: string): string {
  const path = loggablePath(url);
  const start = url.indexOf('?');
  if (start === -1) return path;
  const query = url.slice(start + 1, start + 1 + keptQueryLength).split('#', 1)[0] ?? '';
  const masked = maskForms(query.replace(secretParameter, '$1[masked]').replace(apiKey, 'svc_$1_[masked]'));
  // What lay across the cut may not look like what it is.
  return `${path}?${url.length > start + 1 + keptQueryLength ? masked.replace(/[^&]*$/, '…') : masked}`;
}
