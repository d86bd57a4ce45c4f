import { createHmac } from 'node:crypto';

/** Single-use codes that replace a code from an authenticator. */
export interface RecoveryCodes {
  /** Ten codes, in their displayed form. */
  readonly make: () => readonly string[];
  /** The stored hash of a code in any typed form; undefined for a text that cannot be a code. */
  readonly hashOf: (typed: string) => Buffer | undefined;
}

const codeCount = 10;
const groups = 3;
const groupLength = 4;
/** Crockford's base32, without letters that look like digits or each other. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Each code has 60 random bits and is stored as a keyed hash. A copy of the database without the key is useless. */
export function createRecoveryCodes(key: Buffer, randomBytes: (length: number) => Buffer): RecoveryCodes {
  const makeCode = (): string =>
    Array.from({ length: groups }, () =>
      Array.from(randomBytes(groupLength), (byte) => alphabet[byte % alphabet.length]).join(''),
    ).join('-');
  return {
    make: () => Array.from({ length: codeCount }, makeCode),
    hashOf(typed) {
      const code = typed.toLowerCase().replace(/[\s-]/g, '').replace(/o/g, '0').replace(/[il]/g, '1');
      if (code.length !== groups * groupLength || ![...code].every((letter) => alphabet.includes(letter)))
        return undefined;
      return createHmac('sha256', key).update(code).digest();
    },
  };
}
