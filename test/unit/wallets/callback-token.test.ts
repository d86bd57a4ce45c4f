import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';

const wallet = 'walleta-sandbox';
const tokens = createCallbackTokens(Buffer.alloc(32, 7), wallet);
const merchantId = 'mer_01m7xpsyc7enwahzhs7cewk2zb';
const attemptId = 'pat_01m7xpt097ek983wv5j3gfg274';

test('a token names its merchant for the attempt that it was created for', () => {
  expect(tokens.merchantOf(attemptId, tokens.make(merchantId, attemptId))).toBe(merchantId);
});

test('the same attempt has the same token in every process with the key, and another with another key', () => {
  const sameKey = createCallbackTokens(Buffer.alloc(32, 7), wallet);
  const otherKey = createCallbackTokens(Buffer.alloc(32, 8), wallet);

  expect(sameKey.make(merchantId, attemptId)).toBe(tokens.make(merchantId, attemptId));
  expect(otherKey.merchantOf(attemptId, tokens.make(merchantId, attemptId))).toBeUndefined();
});

test.each(['walletb-sandbox', 'walleta-production', 'walleta', ''])(
  'a token of walleta-sandbox is invalid for %s',
  (other) => {
    const others = createCallbackTokens(Buffer.alloc(32, 7), other);

    expect(others.merchantOf(attemptId, tokens.make(merchantId, attemptId))).toBeUndefined();
    expect(tokens.merchantOf(attemptId, others.make(merchantId, attemptId))).toBeUndefined();
  },
);

test('a token can be part of a URL path unchanged, and has 256 unguessable bits', () => {
  const token = tokens.make(merchantId, attemptId);

  expect(encodeURIComponent(token)).toBe(token);
  expect(token.length).toBeLessThanOrEqual(100);
  expect(Buffer.from(token.split('.')[1] ?? '', 'base64url')).toHaveLength(32);
});

test('a token of another attempt or merchant, or with any change, is invalid', () => {
  const token = tokens.make(merchantId, attemptId);

  expect(tokens.merchantOf(attemptId.replace('pat', 'stp'), token)).toBeUndefined();
  expect(tokens.merchantOf(attemptId, token.replace(merchantId, 'mer_0'))).toBeUndefined();
  expect(tokens.merchantOf(attemptId, `${token}.`)).toBeUndefined();
  fc.assert(
    fc.property(
      fc.nat(token.length - 1),
      fc.string({ unit: 'binary', minLength: 0, maxLength: 3 }),
      (at, put) => {
        const changed = token.slice(0, at) + put + token.slice(at + 1);
        return changed === token || tokens.merchantOf(attemptId, changed) === undefined;
      },
    ),
  );
});

test('any other text is invalid and causes no error', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => tokens.merchantOf(attemptId, text) === undefined),
  );
});
