import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';

const wallet = 'walleta-sandbox';
const tokens = createCallbackTokens(Buffer.alloc(32, 7), wallet);
const merchantId = 'mer_01m7xpsyc7enwahzhs7cewk2zb';
const attemptId = 'pat_01m7xpt097ek983wv5j3gfg274';

test('a token names its merchant for the attempt it was made for', () => {
  expect(tokens.merchantOf(attemptId, tokens.make(merchantId, attemptId))).toBe(merchantId);
});

test('the same attempt has the same token in every process with the key, and another with another key', () => {
  const sameKey = createCallbackTokens(Buffer.alloc(32, 7), wallet);
  const otherKey = createCallbackTokens(Buffer.alloc(32, 8), wallet);

  expect(sameKey.make(merchantId, attemptId)).toBe(tokens.make(merchantId, attemptId));
  expect(otherKey.merchantOf(attemptId, tokens.make(merchantId, attemptId))).toBeUndefined();
});

test.each(['walletb-sandbox', 'walleta-production', 'walleta', ''])(
  'a token of walleta-sandbox is none of %s',
  (other) => {
    const others = createCallbackTokens(Buffer.alloc(32, 7), other);

    expect(others.merchantOf(attemptId, tokens.make(merchantId, attemptId))).toBeUndefined();
    expect(tokens.merchantOf(attemptId, others.make(merchantId, attemptId))).toBeUndefined();
  },
);

test('it fits the path of a URL as it is, and its unguessable part has 256 bits', () => {
  const token = tokens.make(merchantId, attemptId);

  expect(encodeURIComponent(token)).toBe(token);
  expect(token.length).toBeLessThanOrEqual(100);
  expect(Buffer.from(token.split('.')[1] ?? '', 'base64url')).toHaveLength(32);
});

test('a token for another attempt or merchant, or changed anywhere, is none', () => {
  const token = tokens.make(merchantId, attemptId);

  expect(tokens.merchantOf(attemptId.replace('pat', 'stp'), token)).toBeUndefined();
  expect(tokens.merchantOf(attemptId, token.replace(merchantId, 'mer_0'))).toBeUndefined();
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

test('whatever stands in its place is none, and no error', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => tokens.merchantOf(attemptId, text) === undefined),
  );
});
