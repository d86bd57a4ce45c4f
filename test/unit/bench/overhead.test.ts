import { expect, test } from '@jest/globals';
import { judgeOverhead } from '../../../bench/judgement/overhead.ts';
import { medianInterval } from '../../../bench/statistics.ts';

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

test('the interval of a median ignores as many values on both sides', () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1).reverse();
  expect(medianInterval(values)).toEqual({ low: 40, high: 61 });
  expect(medianInterval([9, 1, 5, 3, 2, 4])).toEqual({ low: 1, high: 9 });
});

// The chance that all of five values are on one side of the median is 6 %.
test('fewer than six values have no interval', () => {
  expect(medianInterval([1, 1, 1, 1, 1])).toEqual({ low: -Infinity, high: Infinity });
});
