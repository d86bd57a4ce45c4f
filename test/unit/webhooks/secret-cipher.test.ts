import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SecretUnusableError, createSecretCipher } from '../../../src/webhooks/secrets/secret-cipher.ts';
import type { SecretName } from '../../../src/webhooks/secrets/secret-cipher.ts';

const key = (name: string) => ({ name, key: randomBytes(32) });
const first = key('first');
const cipher = createSecretCipher([first], randomBytes);
const name: SecretName = { merchantId: 'mer_1', environment: 'SANDBOX', id: 'whs_1' };
const environment = fc.constantFrom('SANDBOX' as const, 'PRODUCTION' as const);
const names = fc.record({ merchantId: fc.string(), environment, id: fc.string() });

describe('an encrypted secret', () => {
  test('is decrypted to the same text, for any text and name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), names, (text, of) => {
        expect(cipher.open(cipher.seal(text, of), of)).toBe(text);
      }),
    );
  });

  test('never looks the same twice, and never contains the text', () => {
    const text = `whsec_${randomBytes(32).toString('base64')}`;
    const sealed = Array.from({ length: 100 }, () => cipher.seal(text, name).sealed);
    expect(new Set(sealed.map((bytes) => bytes.toString('hex'))).size).toBe(100);
    expect(sealed.some((bytes) => bytes.includes(text) || bytes.includes(text.slice(6)))).toBe(false);
  });

  test('is not decrypted after any bit was changed', () => {
    const stored = cipher.seal('whsec_secret', name);
    for (let index = 0; index < stored.sealed.length; index += 1) {
      for (const bit of [1, 2, 4, 8, 16, 32, 64, 128]) {
        const sealed = Buffer.from(stored.sealed);
        sealed[index]! ^= bit;
        expect(() => cipher.open({ ...stored, sealed }, name)).toThrow(SecretUnusableError);
      }
    }
  });

  test('is not decrypted when it is shortened or extended', () => {
    const stored = cipher.seal('whsec_secret', name);
    for (let length = 0; length < stored.sealed.length; length += 1) {
      const cut = { ...stored, sealed: stored.sealed.subarray(0, length) };
      expect(() => cipher.open(cut, name)).toThrow(SecretUnusableError);
    }
    const longer = { ...stored, sealed: Buffer.concat([stored.sealed, Buffer.of(0)]) };
    expect(() => cipher.open(longer, name)).toThrow(SecretUnusableError);
  });

  test('is decrypted under its own name only', () => {
    const ids = fc.stringMatching(/^[a-z]{3}_[0-9a-z]{1,26}$/);
    const real = fc.record({ merchantId: ids, environment, id: ids });
    fc.assert(
      fc.property(real, real, (of, other) => {
        fc.pre(JSON.stringify(of) !== JSON.stringify(other));
        expect(() => cipher.open(cipher.seal('whsec_secret', of), other)).toThrow(SecretUnusableError);
      }),
    );
  });
});

test.each<Partial<SecretName>>([{ merchantId: 'mer_2' }, { environment: 'PRODUCTION' }, { id: 'whs_2' }])(
  'an encrypted secret is not decrypted in another row: %j',
  (other) => {
    const stored = cipher.seal('whsec_secret', name);
    expect(() => cipher.open(stored, { ...name, ...other })).toThrow(SecretUnusableError);
  },
);

describe('several keys', () => {
  test('encrypt with the first and decrypt with all', () => {
    const second = key('second');
    const stored = cipher.seal('whsec_secret', name);
    const both = createSecretCipher([second, first], randomBytes);
    expect(both.open(stored, name)).toBe('whsec_secret');
    expect(both.seal('whsec_secret', name).keyId).toBe('second');
  });

  test('report a missing key by name, with what to do', () => {
    const stored = cipher.seal('whsec_secret', name);
    const without = createSecretCipher([key('other')], randomBytes);
    expect(() => without.open(stored, name)).toThrow(
      'the signing secret whs_1 is encrypted with the key "first", which is not in GATEHOUSE_WEBHOOK_SECRET_KEYS; ' +
        'add that key again after the others',
    );
  });

  test('report another key under the same name differently from a missing one', () => {
    const stored = cipher.seal('whsec_secret', name);
    const without = createSecretCipher([key('first')], randomBytes);
    expect(() => without.open(stored, name)).toThrow('cannot be decrypted with the key "first"');
  });
});
