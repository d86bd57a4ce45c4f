import { v7, validate } from 'uuid';

/** What kinds of things have ids, and how each id begins. */
export type IdPrefix =
  | 'mer'
  | 'key'
  | 'ord'
  | 'pat'
  | 'evt'
  | 'aud'
  | 'stp'
  | 'rec'
  | 'req'
  | 'whd'
  | 'whs'
  | 'whr'
  | 'whf'
  | 'usr';

/**
 * A new id of a thing made at `at`: the prefix and a UUID of version 7 (RFC 9562) in 26 characters, so that ids sort by
 * the millisecond they were made in.
 */
export type NewId = (prefix: IdPrefix, at: Date) => string;

export const newRandomId: NewId = (prefix, at) => publicId(prefix, v7({ msecs: at.getTime() }));

/** As `newRandomId`, with the caller's source of 16 random bytes. */
export const randomIdsFrom =
  (rng: () => Uint8Array): NewId =>
  (prefix, at) =>
    publicId(prefix, v7({ msecs: at.getTime(), rng }));

/*
 * The form is that of a TypeID (its specification, version 0.3): 128 bits in Crockford's base 32. Written out here
 * because every order has its ids turned to and fro several times, and the library takes ten times as long for it.
 */

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const suffixForm = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** Two characters for each ten bits. */
const pairs = Array.from(
  { length: 1024 },
  (_, bits) => alphabet.charAt(bits >> 5) + alphabet.charAt(bits & 31),
);
/** Five bits for each character code. */
const bitsByCode = new Uint8Array(128);
for (const [bits, character] of [...alphabet].entries()) bitsByCode[character.charCodeAt(0)] = bits;

/** The id as it is shown, of an id as it is stored. */
export function publicId(prefix: IdPrefix, uuid: string): string {
  const hex = uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24);
  // The first byte, after two bits that are always 0; then four characters for each five digits.
  let id = `${prefix}_${pairOf(Number.parseInt(hex.slice(0, 2), 16))}`;
  for (let start = 2; start < hex.length; start += 5) {
    const bits = Number.parseInt(hex.slice(start, start + 5), 16);
    id += pairOf(bits >> 10) + pairOf(bits & 1023);
  }
  return id;
}

/** The id as it is stored. Throws when the text is no id of that kind: for ids that were parsed before. */
export function storedId(prefix: IdPrefix, id: string): string {
  const uuid = uuidIn(prefix, id);
  if (uuid === undefined) throw new TypeError(`${id} is no id of the form ${prefix}_…`);
  return uuid;
}

/** Whether a text from outside is an id of that kind, one that a stored id can be made of. */
export const isPublicId = (prefix: IdPrefix, text: string): boolean => uuidIn(prefix, text) !== undefined;

/** Every 128 bits have this form; not all of them are a UUID (RFC 9562: version and variant). */
function uuidIn(prefix: IdPrefix, id: string): string | undefined {
  if (id[prefix.length] !== '_' || !id.startsWith(prefix)) return undefined;
  const suffix = id.slice(prefix.length + 1);
  if (!suffixForm.test(suffix)) return undefined;
  const uuid = decode(suffix);
  return validate(uuid) ? uuid : undefined;
}

const pairOf = (tenBits: number): string => pairs[tenBits] ?? '';

function decode(suffix: string): string {
  let hex = digits(fiveBits(suffix, 0) * 32 + fiveBits(suffix, 1), 2);
  for (let start = 2; start < suffix.length; start += 4) {
    const high = fiveBits(suffix, start) * 32 + fiveBits(suffix, start + 1);
    hex += digits(high * 1024 + fiveBits(suffix, start + 2) * 32 + fiveBits(suffix, start + 3), 5);
  }
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const fiveBits = (text: string, index: number): number => bitsByCode[text.charCodeAt(index)] ?? 0;

/** In hexadecimal, with the leading zeros. */
const digits = (bits: number, length: number): string => (16 ** length + bits).toString(16).slice(1);

/** When the thing with this id was made, to the millisecond. Throws when the text is no id of that kind. */
export const createdAtOf = (prefix: IdPrefix, id: string): Date =>
  new Date(Number.parseInt(storedId(prefix, id).slice(0, 13).replace('-', ''), 16));

/** The smallest stored id of anything made at `at` or later. */
export function lowestStoredIdAt(at: Date): string {
  const hex = Math.max(0, at.getTime()).toString(16).padStart(12, '0').slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
