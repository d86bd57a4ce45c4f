import { describe, expect, test } from '@jest/globals';
import { nextQueryTime } from '../../../src/core/domain/next-query.ts';
import type { OpenAttempt } from '../../../src/core/domain/next-query.ts';

const now = new Date('2026-01-01T08:00:00.000Z');
const inSeconds = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);

/** The seconds until the next query of an attempt that has just begun and is leased for the first time. */
const waitOf = (own: Partial<OpenAttempt> = {}): number => {
  const attempt = {
    leases: 1,
    createdAt: now,
    sessionEndsAt: inSeconds(3_600),
    promptUntil: inSeconds(180),
    retryAfterMs: 0,
    ...own,
  };
  return (nextQueryTime(now, attempt).getTime() - now.getTime()) / 1000;
};

describe('a wallet that requests a pause', () => {
  test.each([
    ['less than we would wait anyway', 0.5, 2],
    ['a while', 20, 20],
    ['longer than the request can be sent again', 170, 150],
    ['a day', 86_400, 150],
  ])('of %s is queried after the expected number of seconds', (_name, seconds, expected) => {
    expect(waitOf({ retryAfterMs: seconds * 1000 })).toBe(expected);
  });

  test('of a day is queried after five minutes when the prompt has ended', () => {
    expect(waitOf({ retryAfterMs: 86_400_000, promptUntil: inSeconds(-1) })).toBe(300);
    expect(waitOf({ retryAfterMs: 86_400_000, promptUntil: inSeconds(20) })).toBe(300);
  });

  test('is still queried at the end of the session', () => {
    expect(waitOf({ retryAfterMs: 120_000, sessionEndsAt: inSeconds(60) })).toBe(60);
  });

  test('is not queried more often than its age allows, even if it requests a shorter pause', () => {
    const old = { leases: 50, createdAt: inSeconds(-7_200), promptUntil: inSeconds(-7_020) };

    expect(waitOf({ ...old, retryAfterMs: 5_000 })).toBe(720);
  });
});

test('by default, the first queries follow quickly, and the interval of later ones is a tenth of the age', () => {
  const first = [1, 2, 3, 4, 5, 6, 7, 8].map((leases) => waitOf({ leases }));

  expect(first).toEqual([2, 3, 3, 5, 5, 10, 15, 30]);
  expect(waitOf({ leases: 9, createdAt: inSeconds(-1_000) })).toBe(100);
  expect(waitOf({ leases: 99, createdAt: inSeconds(-86_400) })).toBe(3_600);
});
