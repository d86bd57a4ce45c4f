import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  attemptsInRound,
  maxWaitMs,
  nextAttempt as nextAttemptOf,
  roundMs,
  waitsMs,
} from '../../../src/webhooks/domain/retry-schedule.ts';
import { forAll } from '../../support/for-all.ts';

const start = new Date('2026-03-01T12:00:00.000Z');
const hour = 3_600_000;
const after = (ms: number): Date => new Date(start.getTime() + ms);
/** After an attempt for an order's end that failed at once, without jitter, unless a test names other values. */
const nextAttempt = (failed: Partial<Parameters<typeof nextAttemptOf>[0]>) =>
  nextAttemptOf({
    ...{ eventType: 'order.completed', roundAttempts: 2, roundStartedAt: start, endedAt: start },
    random: () => 0.5,
    ...{ reachedAt: failed.endedAt ?? start },
    ...failed,
  });
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** The times of all attempts of a delivery that is always refused at once, starting with the first one. */
function attemptTimes(dice: () => number, durationMs = 0): number[] {
  const times = [0];
  for (;;) {
    const endedAt = after((times.at(-1) ?? 0) + durationMs);
    const next = nextAttempt({ roundAttempts: times.length, endedAt, random: dice });
    if (next.type === 'abandon') return times;
    times.push(next.at.getTime() - start.getTime());
  }
}

describe('the schedule', () => {
  test.each([
    [1, '5 s', 5_000],
    [2, '30 s', 30_000],
    [3, '2 min', 120_000],
    [4, '10 min', 600_000],
    [5, '30 min', 1_800_000],
    [6, '1 h', hour],
    [7, '2 h', 2 * hour],
    [8, '4 h', 4 * hour],
    [9, '8 h', 8 * hour],
    [10, '12 h', 12 * hour],
    [11, '24 h', 24 * hour],
    [12, '24 h', 24 * hour],
  ])('waits after attempt %i for about %s', (roundAttempts, _words, waitMs) => {
    expect(nextAttempt({ roundAttempts })).toEqual({ type: 'at', at: after(waitMs) });
  });

  test('ends after the 13th attempt', () => {
    expect(nextAttempt({ roundAttempts: 13 })).toEqual({ type: 'abandon' });
  });

  test('of a test ends after the third attempt, within a minute', () => {
    const steps = [1, 2, 3].map((roundAttempts) => nextAttempt({ eventType: 'webhook.test', roundAttempts }));

    expect(steps.map(({ type }) => type)).toEqual(['at', 'at', 'abandon']);
    expect(attemptsInRound('webhook.test')).toBe(3);
    expect(attemptsInRound('order.failed')).toBe(13);
  });

  test('ends with the first attempt that fails after 76 hours', () => {
    const at = (ms: number) => nextAttempt({ endedAt: after(ms) }).type;

    expect([at(roundMs - 1), at(roundMs), at(roundMs + hour)]).toEqual(['at', 'abandon', 'abandon']);
  });

  test('does not end while the clock of the machine has not reached its end', () => {
    const endedAt = after(400 * 24 * hour);

    const next = nextAttempt({ endedAt, reachedAt: after(hour) });

    expect(next).toEqual({ type: 'at', at: new Date(endedAt.getTime() + 30_000) });
  });

  test('counts from a later beginning when the endpoint was paused in between', () => {
    const endedAt = after(100 * hour);

    const next = nextAttempt({ roundAttempts: 3, roundStartedAt: after(99 * hour), endedAt });

    expect(next).toEqual({ type: 'at', at: after(100 * hour + 120_000) });
  });

  forAll([fc.array(random, { minLength: 12, maxLength: 12 }), fc.integer({ min: 0, max: 15_000 })])(
    'has 13 attempts within 76 hours, for any jitter and however slow the receiver is',
    (rolls, durationMs) => {
      let roll = 0;
      const times = attemptTimes(() => rolls[roll++ % rolls.length]!, durationMs);
      expect(times).toHaveLength(13);
      expect(times.at(-1)).toBeLessThanOrEqual(roundMs);
      expect(times.at(-1)).toBeGreaterThan(68 * hour);
    },
  );

  forAll([random, fc.integer({ min: 1, max: 12 })])(
    'deviates by at most a tenth from the plan, unless the schedule ends before',
    (roll, roundAttempts) => {
      const next = nextAttempt({ roundAttempts, random: () => roll });
      if (next.type !== 'at') throw new Error('abandoned');
      const planned = waitsMs[roundAttempts - 1]!;
      const wait = next.at.getTime() - start.getTime();
      expect(wait).toBeGreaterThanOrEqual(planned * 0.9 - 1);
      expect(wait).toBeLessThanOrEqual(planned * 1.1 + 1);
    },
  );
});

describe('Retry-After', () => {
  const at = (ms: number) => ({ type: 'at', at: after(ms) });
  test.each([
    ['shorter than planned changes nothing', { retryAfterMs: 1_000 }, at(30_000)],
    ['longer than planned extends the wait', { retryAfterMs: 90_000 }, at(90_000)],
    ['of more than a day means a day', { retryAfterMs: 72 * hour }, at(24 * hour)],
    [
      'longer than the rest of the schedule ends it',
      { retryAfterMs: 2 * hour, endedAt: after(75 * hour) },
      { type: 'abandon' },
    ],
    [
      'of exactly the rest of the schedule makes the last attempt at its end',
      { retryAfterMs: hour, endedAt: after(75 * hour) },
      { type: 'at', at: after(76 * hour) },
    ],
    [
      'after the last attempt causes no further one',
      { retryAfterMs: 1_000, roundAttempts: 13 },
      { type: 'abandon' },
    ],
  ])('%s', (_what, failed, expected) => {
    expect(nextAttempt(failed)).toEqual(expected);
  });
});

forAll([
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 0, max: 100 * hour }),
  fc.option(fc.integer({ min: 0, max: 100 * hour }), { nil: undefined }),
  random,
])(
  'the next attempt is not before the end of this one, and not after the schedule or the requested day has ended',
  (roundAttempts, elapsedMs, retryAfterMs, roll) => {
    const endedAt = after(elapsedMs);
    const next = nextAttempt({
      roundAttempts,
      endedAt,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      random: () => roll,
    });
    if (next.type === 'abandon') return;
    expect(next.at.getTime()).toBeGreaterThanOrEqual(endedAt.getTime());
    expect(next.at.getTime()).toBeLessThanOrEqual(start.getTime() + roundMs);
    expect(next.at.getTime() - endedAt.getTime()).toBeLessThanOrEqual(maxWaitMs);
  },
);
