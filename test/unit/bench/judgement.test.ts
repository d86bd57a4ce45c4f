import { expect, test } from '@jest/globals';
import expectedRatios from '../../../bench/expected-ratios.json' with { type: 'json' };
import type { Measured } from '../../../bench/contender.ts';
import { judgeCosts, judgeRatios } from '../../../bench/judgement/guard.ts';
import { judgeOverhead } from '../../../bench/judgement/overhead.ts';
import { contendersOf, ratiosOf } from '../../../bench/judgement/ratios.ts';
import { judgeTargets } from '../../../bench/judgement/targets.ts';
import { ratioOfPairs, withoutLargest } from '../../../bench/statistics.ts';

test.each([
  [0.61, 'as expected'],
  [0.59, 'halved'],
  [5, 'as expected'],
  [Number.NaN, 'not measured'],
])('a ratio of which 1.2 is expected and %p is measured is %s, whatever the others are', (value, verdict) => {
  const verdicts = judgeRatios({ register: 1.2, verify: 0.6, absent: 1 }, [
    { name: 'register', value },
    { name: 'verify', value: 0.6 },
  ]);

  expect(verdicts).toMatchObject([
    { name: 'register', expected: 1.2, measured: Number.isNaN(value) ? undefined : value, verdict },
    { name: 'verify', verdict: 'as expected' },
    { name: 'absent', verdict: 'not measured' },
  ]);
});

test('each ratio of expected-ratios.json can be measured, and a name that is no ratio stops the guard', () => {
  expect(contendersOf(Object.keys(expectedRatios))).toContain('rest verify ended');
  expect(() => contendersOf(['verify / bare Fastify @ 64'])).toThrow(
    'There is no ratio "verify / bare Fastify @ 64"',
  );
});

test.each([
  [24, 'as expected'],
  [24.1, 'doubled'],
  [1, 'as expected'],
  [Number.NaN, 'not measured'],
])('a request that is expected to cost 12 times bare Fastify and costs %p times is %s', (value, verdict) => {
  expect(judgeCosts({ register: 12 }, [{ name: 'register', value }])).toMatchObject([{ verdict }]);
});

test.each([
  [0.99, 1.029, 'met'],
  [1.01, 1.03, 'undecided'],
  [1.029, 1.2, 'undecided'],
  [1.03, 1.2, 'not met'],
  [-Infinity, Infinity, 'undecided'],
  [Number.NaN, Number.NaN, 'undecided'],
])('an overhead between %p and %p, which must be below 3 %%, is %s', (low, high, verdict) => {
  expect(judgeOverhead({ low, high }, 0.03)).toBe(verdict);
});

const pairs = (count: number, pairOf: (index: number) => readonly [number, number]) =>
  Array.from({ length: count }, (_, index) => pairOf(index));

test('a slowdown of both values of a pair does not widen the interval', () => {
  const { ratio, low, high } = ratioOfPairs(pairs(100, (index) => [1.5 * (index + 1), index + 1]));
  expect(ratio).toBeCloseTo(1.5, 10);
  expect(high - low).toBeCloseTo(0, 10);
});

// Each second value is 30 % above, and each other one 10 % below: the standard error of 100 such values is 2 % of their mean.
test('the interval is that of a mean: 1.96 standard errors on each side', () => {
  const { ratio, low, high } = ratioOfPairs(pairs(100, (index) => [index % 2 === 0 ? 1.3 : 0.9, 1]));
  expect([ratio, low, high].map((each) => each.toFixed(3))).toEqual(['1.100', '1.061', '1.139']);
});

test('pairs count in proportion to their requests', () => {
  expect(
    ratioOfPairs([
      [1, 1],
      [1, 2],
    ]).ratio,
  ).toBeCloseTo(2 / 3, 10);
});

test('the pairs with the largest sums are left out, whichever of their values is large', () => {
  const usual = pairs(8, () => [1, 1]);
  expect(withoutLargest([[9, 1], ...usual, [1, 9]], 0.2)).toEqual(usual);
});

const measured = (contender: string, connections: number, ...rates: number[]): Measured => ({
  contender,
  connections,
  samples: rates.map((perSecond) => ({ perSecond, p50_ms: 1, p99_ms: 2, failed: 0, cpu_us: {} })),
});

test('a ratio compares the medians of two contenders at the same number of connections', () => {
  const ratios = ratiosOf([
    measured('rest verify ended', 64, 10, 30, 500),
    measured('bare Fastify verify', 64, 60, 1, 61),
    measured('bare Fastify verify', 256, 1),
  ]);
  expect(ratios).toEqual([{ name: 'verify ended / bare Fastify @ 64', value: 0.5 }]);
});

test('a target that was not measured is neither met nor missed', () => {
  expect(judgeTargets({}).every(({ met, measured: value }) => met === undefined && value === undefined)).toBe(
    true,
  );
});
