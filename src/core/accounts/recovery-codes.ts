import { createHmac } from 'node:crypto';

/** Codes that each work once in the place of one from an authenticator. */
export interface RecoveryCodes {
  /** Ten of them, as they are shown. */
  readonly make: () => readonly string[];
  /** What is stored of one, however it is typed; undefined for a text that can be none. */
  readonly hashOf: (typed: string) => Buffer | undefined;
}

const howMany = 10;
const groups = 3;
const groupLength = 4;
/** Crockford's base32, without the letters that are taken for digits or each other. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** 60 random bits each, kept as a keyed hash: a copy of the database without the key opens nothing. */
export function createRecoveryCodes(key: Buffer, randomBytes: (length: number) => Buffer): RecoveryCodes {
  const make = (): string =>
    Array.from({ length: groups }, () =>
      Array.from(randomBytes(groupLength), (byte) => alphabet[byte % alphabet.length]).join(''),
    ).join('-');
  return {
    make: () => Array.from({ length: howMany }, make),
    hashOf(typed) {
      const code = typed.toLowerCase().replace(/[\s-]/g, '').replace(/o/g, '0').replace(/[il]/g, '1');
      if (code.length !== groups * groupLength || ![...code].every((letter) => alphabet.includes(letter)))
        return undefined;
      return createHmac('sha256', key).update(code).digest();
    },
  };
}
