import { TypeID } from 'typeid-js';
import { v7 } from 'uuid';

/** What kinds of things have ids, and how each id begins. */
export type IdPrefix =
  'mer' | 'key' | 'ord' | 'pat' | 'evt' | 'aud' | 'stp' | 'rec' | 'whd' | 'whs' | 'whr' | 'whf' | 'usr';

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

/** The id as it is shown, of an id as it is stored. */
export const publicId = (prefix: IdPrefix, uuid: string): string => TypeID.fromUUID(prefix, uuid).toString();

/** The id as it is stored. Throws when the text is no id of that kind: for ids that were parsed before. */
export const storedId = (prefix: IdPrefix, id: string): string => TypeID.fromString(id, prefix).toUUID();

/** Whether a text from outside is an id of that kind, one that a stored id can be made of. */
export function isPublicId(prefix: IdPrefix, text: string): boolean {
  if (
    !text.startsWith(`${prefix}_`) ||
    !/^[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(text.slice(prefix.length + 1))
  ) {
    return false;
  }
  try {
    storedId(prefix, text);
    return true;
  } catch {
    // Every 128 bits have this form; not all of them are a UUID (RFC 9562: version and variant).
    return false;
  }
}

/** The smallest stored id of anything made at `at` or later. */
export function lowestStoredIdAt(at: Date): string {
  const hex = Math.max(0, at.getTime()).toString(16).padStart(12, '0').slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
