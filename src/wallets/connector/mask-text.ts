import { maskPhone } from '../../platform/mask-sensitive.ts';

/** The number of characters of a body that are stored. */
export const keptBodyLength = 16 * 1024;

/** Longer than any secret, so that a secret across the cut is replaced before the text is cut. */
const margin = 8 * 1024;

const secretField =
  /("[^"]{0,40}(?:token|secret|password|passwd|pin|credential|authorization|api_?key|signature)[^"]{0,40}"\s{0,8}:\s{0,8}")((?:[^"\\]|\\.){0,8192})/gi;

const jsonValue = String.raw`(?:"(?:[^"\\]|\\.){0,2048}"?|-?[0-9][0-9.eE+-]{0,64})`;
/**
 * The balance of an account, as a property, or as an entry of M-Pesa's lists of names and values. All merchants with payments to one
 * account could read it there.
 */
const balanceField = new RegExp(
  String.raw`("[^"]{0,40}balance[^"]{0,40}"\s{0,8}:\s{0,8}|"(?:key|name)"\s{0,8}:\s{0,8}"[^"]{0,40}balance[^"]{0,40}"\s{0,8},\s{0,8}"value"\s{0,8}:\s{0,8})${jsonValue}`,
  'gi',
);

/**
 * Digits that may be a phone number: 9 to 15, with or without a plus, and not part of a longer word. The second alternative is
 * a property that contains a reference or an amount, which is not masked. MTN's `partyId` is a phone number.
 */
const phoneOrReference =
  /("[^"]{0,40}(?:reference|receipt|(?<!party)id|amount|link|hash)"\s{0,8}:\s{0,8}"[^"]{0,512})|(?<![\w+.-])\+?[0-9]{9,15}(?![\w-]|\.[0-9])/gi;

/** Replaces phone numbers in a text from outside by their masked form. */
export function maskPhones(text: string): string {
  return text.replace(phoneOrReference, (found, reference: string | undefined) =>
    reference === undefined ? maskPhone(found) : found,
  );
}

/**
 * Makes a body safe to store. The given secrets, values of fields with the name of a secret, and balances are replaced. Phone
 * numbers are masked. At most 16 KiB are kept.
 */
export function maskBody(body: string, secrets: readonly string[]): string {
  let text = body.slice(0, keptBodyLength + margin);
  for (const secret of secrets) if (secret !== '') text = text.replaceAll(secret, '[masked]');
  text = text.replace(secretField, (_found, name: string) => `${name}[masked]`);
  text = text.replace(balanceField, (_found, name: string) => `${name}"[masked]"`);
  return maskPhones(text).slice(0, keptBodyLength);
}

/** A wallet's text, safe to store with an attempt: one line, at most 256 characters, phone numbers masked. */
export function maskProviderText(text: string): string {
  const line = text.slice(0, 1024).replace(/[\s\p{Cc}]+/gu, ' ');
  return maskPhones(line).trim().slice(0, 256);
}
