import { maskPhone } from '../../platform/mask-sensitive.ts';

/** How much of a body is kept. */
export const keptBodyLength = 16 * 1024;

/** Longer than any secret, so that one lying across the cut is replaced before it is cut. */
const margin = 8 * 1024;

const secretField =
  /("[^"]{0,40}(?:token|secret|password|passwd|pin|credential|authorization|api_?key|signature)[^"]{0,40}"\s{0,8}:\s{0,8}")((?:[^"\\]|\\.){0,8192})/gi;

/**
 * A run of digits that may be a phone number: 9 to 15 of them, with a plus or not, that is no part of a longer word.
 * The second alternative is a property whose digits are a reference or an amount, to be left alone.
 */
const phoneOrReference =
  /("[^"]{0,40}(?:reference|receipt|id|amount|balance|link|hash)"\s{0,8}:\s{0,8}"[^"]{0,512})|(?<![\w+.-])\+?[0-9]{9,15}(?![\w-]|\.[0-9])/gi;

/** Replaces phone numbers in a text from outside by what is left of them in logs. */
export function maskPhones(text: string): string {
  return text.replace(phoneOrReference, (found, reference: string | undefined) =>
    reference === undefined ? maskPhone(found) : found,
  );
}

/**
 * A body fit to be stored: the secrets given, and the values of fields that are named like one, replaced; phone numbers
 * masked; at most 16 kB of it.
 */
export function maskBody(body: string, secrets: readonly string[]): string {
  let text = body.slice(0, keptBodyLength + margin);
  for (const secret of secrets) if (secret !== '') text = text.replaceAll(secret, '[masked]');
  text = text.replace(secretField, (_found, name: string) => `${name}[masked]`);
  return maskPhones(text).slice(0, keptBodyLength);
}

/** A wallet's own words fit to be stored beside an attempt: one line, at most 256 characters, phone numbers masked. */
export function maskProviderText(text: string): string {
  const line = text.slice(0, 1024).replace(/[\s\p{Cc}]+/gu, ' ');
  return maskPhones(line).trim().slice(0, 256);
}
