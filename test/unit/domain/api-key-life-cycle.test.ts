import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type ApiKeyScope,
  type ApiKeyTimes,
  apiKeyState,
  isUsable,
  issueApiKey,
  maxUsableKeys,
  maxUsableKeysInRotation,
  recordKeyUse,
  revokeApiKey,
  rotateApiKey,
  setScopes,
} from '../../../src/core/domain/api-key-life-cycle.ts';
import type { Environment } from '../../../src/core/domain/order.ts';

const start = Date.UTC(2026, 0, 31);
const at = (seconds: number) => new Date(start + seconds * 1000);
const key = (times: Partial<ApiKeyTimes> = {}) => ({
  environment: 'SANDBOX' as Environment,
  label: 'shop',
  scopes: ['REFUNDS'] as readonly ApiKeyScope[],
  expiresAt: null,
  revokedAt: null,
  ...times,
});

describe('each state answers each command', () => {
  test.each([
    // key, its state, the state of the key that a rotation with a minute of overlap leaves, and its expiry
    ['a new key', key(), 'ACTIVE', 'ENDING', at(160)],
    ['a key in a longer overlap', key({ expiresAt: at(500) }), 'ENDING', 'ENDING', at(160)],
    ['a key in a shorter overlap', key({ expiresAt: at(101) }), 'ENDING', 'ENDING', at(101)],
    ['a key at the end of its overlap', key({ expiresAt: at(100) }), 'EXPIRED', 'not_usable', undefined],
    ['a revoked key', key({ revokedAt: at(1) }), 'REVOKED', 'not_usable', undefined],
    [
      'a key that was revoked in its overlap',
      key({ expiresAt: at(500), revokedAt: at(1) }),
      'REVOKED',
      'not_usable',
      undefined,
    ],
  ])('%s', (_name, given, state, rotatedTo, expiresAt) => {
    const now = at(100);
    const rotated = rotateApiKey(given, [], 60_000, now);
    const revoked = revokeApiKey(given, now);

    expect(apiKeyState(given, now)).toBe(state);
    expect(isUsable(given, now)).toBe(state === 'ACTIVE' || state === 'ENDING');
    expect(rotated.ok ? apiKeyState(rotated.value.replaced, now) : rotated.error).toBe(rotatedTo);
    if (rotated.ok) {
      expect(rotated.value).toEqual({ successor: key(), replaced: { ...given, expiresAt } });
    }
    expect(revoked).toEqual({ ...given, revokedAt: given.revokedAt ?? now });
    if (given.revokedAt !== null) expect(revoked).toBe(given);
  });
});

test('a rotation without overlap ends the key at that instant', () => {
  const rotated = rotateApiKey(key(), [], 0, at(0));

  expect(rotated.ok && apiKeyState(rotated.value.replaced, at(0))).toBe('EXPIRED');
});

test('a key is issued beside nineteen usable ones and not beside twenty, and other keys do not count', () => {
  const usable = Array.from({ length: maxUsableKeys - 1 }, () => key({ expiresAt: at(101) }));
  const unusable = [key({ expiresAt: at(100) }), key({ revokedAt: at(1) })];

  expect(maxUsableKeys).toBe(20);
  expect(issueApiKey([...usable, ...unusable], at(100))).toEqual({
    ok: true,
    value: { expiresAt: null, revokedAt: null },
  });
  expect(issueApiKey([...usable, key()], at(100))).toEqual({ ok: false, error: 'too_many' });
  expect(issueApiKey([...usable, key()], at(101)).ok).toBe(true);
});

test('each of twenty keys can be replaced once, and more only as other keys end', () => {
  const usable = (count: number) => Array.from({ length: count }, () => key({ expiresAt: at(101) }));
  const minute = 60_000;

  expect(maxUsableKeysInRotation).toBe(40);
  expect(rotateApiKey(key(), [...usable(38), key({ revokedAt: at(1) })], minute, at(100)).ok).toBe(true);
  expect(rotateApiKey(key(), usable(39), minute, at(100))).toEqual({ ok: false, error: 'too_many' });
  // The old key ends at once, or others have ended.
  expect(rotateApiKey(key(), usable(39), 0, at(100)).ok).toBe(true);
  expect(rotateApiKey(key(), usable(39), minute, at(101)).ok).toBe(true);
});

test('scopes change on a valid key only', () => {
  expect(setScopes(key(), [], at(0))).toEqual({ ok: true, value: { ...key(), scopes: [] } });
  expect(setScopes(key({ revokedAt: at(0) }), [], at(1))).toEqual({ ok: false, error: 'not_usable' });
});

test('the last use is recorded once a minute', () => {
  const used = recordKeyUse({ lastUsedAt: null }, at(0));

  expect(used).toEqual({ lastUsedAt: at(0) });
  expect(recordKeyUse(used, at(59.999))).toBe(used);
  expect(recordKeyUse(used, at(60))).toEqual({ lastUsedAt: at(60) });
});

test('the last use that a clock ahead recorded is corrected by the next use', () => {
  expect(recordKeyUse({ lastUsedAt: at(3_600) }, at(0))).toEqual({ lastUsedAt: at(0) });
});

test('a key never expires later than before, and a key that became invalid stays invalid', () => {
  const commands = fc.array(
    fc.record({
      seconds: fc.integer({ min: 0, max: 100 }),
      command: fc.constantFrom('rotate', 'rotate', 'revoke', 'wait'),
      overlapMs: fc.integer({ min: 0, max: 300_000 }),
    }),
    { maxLength: 20 },
  );
  fc.assert(
    fc.property(commands, (sequence) => {
      let current = Object.freeze(key());
      let seconds = 0;
      let wasUsable = true;
      for (const { seconds: wait, command, overlapMs } of sequence) {
        seconds += wait;
        const now = at(seconds);
        const end = current.expiresAt ?? at(1e9);
        const rotated = rotateApiKey(current, [], overlapMs, now);
        if (command === 'rotate' && rotated.ok) current = Object.freeze(rotated.value.replaced);
        if (command === 'revoke') current = Object.freeze(revokeApiKey(current, now));
        if (isUsable(current, now) && !wasUsable) throw new Error('it came back');
        if ((current.expiresAt ?? at(1e9)) > end) throw new Error('it expires later');
        wasUsable = isUsable(current, now);
      }
    }),
    { numRuns: 300 },
  );
});
