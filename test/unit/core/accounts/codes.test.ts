import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createRecoveryCodes } from '../../../../src/core/accounts/recovery-codes.ts';
import { createSecretSeal } from '../../../../src/platform/secret-seal.ts';
import { stepOfTotp } from '../../../../src/core/accounts/totp-codes.ts';

/** RFC 6238, appendix B, with SHA-1: the last six of its eight digits. */
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
const rfcCodes = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
] as const;

describe('a one-time code', () => {
  test.each(rfcCodes)('at second %i is that of RFC 6238', (second, code) => {
    expect(stepOfTotp(rfcSecret, code, new Date(second * 1000))).toBe(Math.floor(second / 30));
  });

  test.each(['05924', '0059240', '٠٠٥٩٢٤', ''])('is not recognised as %j', (code) => {
    expect(stepOfTotp(rfcSecret, code, new Date(1_234_567_890_000))).toBeUndefined();
  });

  test('is accepted at most one step early or late, and returns the step that it belongs to', () => {
    const at = (steps: number) =>
      stepOfTotp(rfcSecret, '005924', new Date((1_234_567_890 + steps * 30) * 1000));
    const step = Math.floor(1_234_567_890 / 30);
    expect([at(-2), at(-1), at(0), at(1), at(2)]).toEqual([undefined, step, step, step, undefined]);
  });
});

describe('recovery codes', () => {
  const codes = createRecoveryCodes(randomBytes(32), randomBytes);

  test('are found in any notation, and with no other key', () => {
    const [code = ''] = codes.make();
    const hash = codes.hashOf(code);
    expect(codes.hashOf(` ${code.toUpperCase().replaceAll('-', ' ')} `)).toEqual(hash);
    expect(createRecoveryCodes(randomBytes(32), randomBytes).hashOf(code)).not.toEqual(hash);
  });

  test.each(['O000-1111-2222', '0oO0-1111-2222', '0000-iI11-2222', '0000-lL11-2222'])(
    'are found although a letter was written for a digit: %s',
    (typed) => {
      expect(codes.hashOf(typed)).toEqual(codes.hashOf('0000-1111-2222'));
      expect(codes.hashOf(typed)).toBeDefined();
    },
  );

  test.each(['', '123456', 'abcd-efgh-jkm', 'abcd-efgh-jkmnp', 'abcd-efgh-jkmu', 'ኮድ'])(
    'do not include %j',
    (text) => {
      expect(codes.hashOf(text)).toBeUndefined();
    },
  );
});

describe('an encrypted secret', () => {
  const seal = createSecretSeal(randomBytes(32), randomBytes);

  test('is decrypted only for its owner, only with its key, and only when it is unaltered', () => {
    const sealed = seal.seal('JBSWY3DP', 'owner');
    const altered = Buffer.from(sealed);
    altered.writeUInt8(altered.readUInt8(14) ^ 1, 14);

    expect(seal.open(sealed, 'owner')).toBe('JBSWY3DP');
    expect(() => seal.open(sealed, 'other')).toThrow();
    expect(() => seal.open(altered, 'owner')).toThrow();
    expect(() => seal.open(sealed.subarray(0, 20), 'owner')).toThrow();
    expect(() => createSecretSeal(randomBytes(32), randomBytes).open(sealed, 'owner')).toThrow();
  });

  test('differs each time, also for the same secret', () => {
    expect(seal.seal('JBSWY3DP', 'owner')).not.toEqual(seal.seal('JBSWY3DP', 'owner'));
  });
});
