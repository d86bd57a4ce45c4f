import { v7 } from 'uuid';

/** The prefixes of ids, each with its kind of object. */
export const idPrefixes = [
  'mer', // merchant
  'key', // API key
  'ord', // order
  'pat', // payment attempt
  'evt', // event of an order
  'aud', // entry of the audit log
  'ers', // request for erasure
  'stp', // stray payment
  'ppm', // payer-started payment
  'rec', // reconciliation
  'req', // recorded request of the API
  'whd', // webhook delivery
  'whs', // signing secret
  'whr', // redelivery of webhooks
  'whf', // finding of the webhooks reconciler
  'whe', // webhook endpoint
  'usr', // user
  'rfd', // refund
  'stl', // settlement
  'wac', // wallet account of a merchant
] as const;
export type IdPrefix = (typeof idPrefixes)[number];

/** The public form of an id, such as `ord_01h455vb4pex5vsknk084sn02q`, for messages, logs and the domain. */
export type PublicId<P extends IdPrefix> = `${P}_${string}`;

declare const kindOfId: unique symbol;
/** The stored form of the same id, a UUID, for rows and statements. It never leaves its store. */
export type StoredId<P extends IdPrefix> = string & { readonly [kindOfId]: P };

/**
 * Creates the id of an object created at `at`: the prefix and a UUID of version 7 (RFC 9562) in 26 characters. So ids sort by
 * the millisecond of their creation.
 */
export type NewId = <P extends IdPrefix>(prefix: P, at: Date) => PublicId<P>;

/** Stands for no merchant, where the money of a wallet belongs to none: the nil UUID (RFC 9562). */
export const noMerchantId: PublicId<'mer'> = 'mer_00000000000000000000000000';

const uuidBytes = 16;

export const newRandomId: NewId = (prefix, at) =>
  idOfBytes(prefix, v7({ msecs: at.getTime() }, new Uint8Array(uuidBytes)));

/** Like `newRandomId`, with the caller's source of 16 random bytes. */
export const randomIdsFrom =
  (rng: () => Uint8Array): NewId =>
  (prefix, at) =>
    idOfBytes(prefix, v7({ msecs: at.getTime(), rng }, scratch));

/*
 * The form is that of a TypeID (specification, version 0.3): 128 bits in Crockford's base 32. It is implemented here because
 * every order converts its ids several times, and the library takes ten times as long.
 */

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const suffixLength = 26;
/** The largest value of the first character, because two of the 130 bits are always 0. */
const maxFirstValue = 7;

/** The issue of a text that is not such an id. It names the length, because an id that was copied in part has its prefix too. */
export const idIssue = (prefix: IdPrefix): string =>
  `must be an id of the form ${prefix}_… with ${suffixLength} characters after the underscore`;

const codes = Buffer.from(alphabet, 'latin1');
/** Five bits for each character code. Codes outside the alphabet have a larger value. */
const noBits = 0xff;
const bitsByCode = new Uint8Array(128).fill(noBits);
for (const [bits, character] of [...alphabet].entries()) bitsByCode[character.charCodeAt(0)] = bits;
const hexCodes = Buffer.from('0123456789abcdef', 'latin1');
/** The values of the hexadecimal digits, by character code. */
const hexValues = new Uint8Array(128);
for (const [value, code] of hexCodes.entries()) hexValues[code] = value;
const hyphen = 0x2d;
const uuidLength = 36;
/** A buffer for the bytes of a UUID during a conversion. */
const scratch = new Uint8Array(uuidBytes);
/** A buffer for the characters of an id. Joining the text piece by piece would create many small objects on the heap. */
const characters = Buffer.alloc(uuidLength);

/** Converts a stored id to its public form. */
export function publicId<P extends IdPrefix>(prefix: P, uuid: StoredId<P>): PublicId<P> {
  readUuid(uuid, scratch);
  return idOfBytes(prefix, scratch);
}

/** Converts a public id to its stored form. The id was parsed before, so any other text throws TypeError. */
export function storedId<P extends IdPrefix>(prefix: P, id: PublicId<P>): StoredId<P> {
  const uuid = uuidIn(prefix, id);
  if (uuid === undefined) throw new TypeError(`${id} is not an id of the form ${prefix}_…`);
  return uuid as StoredId<P>;
}

/** Whether a text from outside is an id of that kind that `storedId` accepts. */
export const isPublicId = <P extends IdPrefix>(prefix: P, text: string): text is PublicId<P> =>
  readId(prefix, text);

/** The UUID in an id of any kind; undefined for any other text. */
export function uuidOfId(id: string): string | undefined {
  const prefix = idPrefixes.find((each) => id.startsWith(`${each}_`));
  return prefix === undefined ? undefined : uuidIn(prefix, id);
}

const uuidIn = (prefix: IdPrefix, id: string): string | undefined =>
  readId(prefix, id) ? uuidOfBytes(scratch) : undefined;

/** Reads the UUID in an id into `scratch`. False if its 128 bits are not a UUID (RFC 9562: version and variant). */
const readId = (prefix: IdPrefix, id: string): boolean =>
  id.length === prefix.length + 1 + suffixLength &&
  id[prefix.length] === '_' &&
  id.startsWith(prefix) &&
  readBytes(id, prefix.length + 1, scratch) &&
  isUuid(scratch);

/** Writes 16 bytes as 26 characters: two for the first byte, and eight for each five of the others. */
function idOfBytes<P extends IdPrefix>(prefix: P, bytes: Uint8Array): PublicId<P> {
  const first = bytes[0] ?? 0;
  characters[0] = codes[first >> 5] ?? 0;
  characters[1] = codes[first & 31] ?? 0;
  let next = 2;
  for (let start = 1; start < uuidBytes; start += 5) {
    const middle = bytes[start + 2] ?? 0;
    writeTwentyBits(next, ((bytes[start] ?? 0) << 12) | ((bytes[start + 1] ?? 0) << 4) | (middle >> 4));
    writeTwentyBits(
      next + 4,
      ((middle & 15) << 16) | ((bytes[start + 3] ?? 0) << 8) | (bytes[start + 4] ?? 0),
    );
    next += 8;
  }
  return `${prefix}_${characters.toString('latin1', 0, suffixLength)}`;
}

/** Writes twenty bits as four characters. */
function writeTwentyBits(at: number, bits: number): void {
  characters[at] = codes[bits >> 15] ?? 0;
  characters[at + 1] = codes[(bits >> 10) & 31] ?? 0;
  characters[at + 2] = codes[(bits >> 5) & 31] ?? 0;
  characters[at + 3] = codes[bits & 31] ?? 0;
}

/** Reads the hexadecimal digits of a UUID. */
function readUuid(uuid: string, bytes: Uint8Array): void {
  let next = 0;
  for (let index = 0; index < uuidBytes; index += 1) {
    if (uuid.charCodeAt(next) === hyphen) next += 1;
    const high = hexValues[uuid.charCodeAt(next)] ?? 0;
    bytes[index] = (high << 4) | (hexValues[uuid.charCodeAt(next + 1)] ?? 0);
    next += 2;
  }
}

/** Writes the bits of the characters from `from` into `bytes`. False if a character is not in the alphabet. */
function readBytes(text: string, from: number, bytes: Uint8Array): boolean {
  let seen = 0;
  const bits = (index: number): number => {
    const five = bitsByCode[text.charCodeAt(from + index)] ?? noBits;
    seen |= five;
    return five;
  };
  const twenty = (index: number): number =>
    (bits(index) << 15) | (bits(index + 1) << 10) | (bits(index + 2) << 5) | bits(index + 3);
  const first = bits(0);
  bytes[0] = (first << 5) | bits(1);
  for (let group = 0; group < 3; group += 1) {
    const high = twenty(2 + 8 * group);
    const low = twenty(6 + 8 * group);
    const start = 1 + 5 * group;
    bytes[start] = high >> 12;
    bytes[start + 1] = high >> 4;
    bytes[start + 2] = (high << 4) | (low >> 16);
    bytes[start + 3] = low >> 8;
    bytes[start + 4] = low;
  }
  return seen < 32 && first <= maxFirstValue;
}

/** Whether the version and variant are valid, or the UUID is nil or max (RFC 9562). */
function isUuid(bytes: Uint8Array): boolean {
  const version = (bytes[6] ?? 0) >> 4;
  if (version >= 1 && version <= 8 && (bytes[8] ?? 0) >> 6 === 2) return true;
  return bytes.every((byte) => byte === 0) || bytes.every((byte) => byte === 0xff);
}

function uuidOfBytes(bytes: Uint8Array): string {
  let next = 0;
  for (let index = 0; index < uuidBytes; index += 1) {
    if (index === 4 || index === 6 || index === 8 || index === 10) characters[next++] = hyphen;
    const byte = bytes[index] ?? 0;
    characters[next++] = hexCodes[byte >> 4] ?? 0;
    characters[next++] = hexCodes[byte & 15] ?? 0;
  }
  return characters.toString('latin1', 0, uuidLength);
}

/** The creation time in an id, to the millisecond. Throws when the text is not an id of that kind. */
export const createdAtOf = <P extends IdPrefix>(prefix: P, id: PublicId<P>): Date =>
  new Date(Number.parseInt(storedId(prefix, id).slice(0, 13).replace('-', ''), 16));

/** The smallest stored id of any object created at `at` or later. */
export function lowestStoredIdAt(at: Date): StoredId<never> {
  const hex = Math.max(0, at.getTime()).toString(16).padStart(12, '0').slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000` as StoredId<never>;
}
