import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { canonicalDecimal, isGreaterDecimal, sameDecimal } from '../../../src/contract/decimal-text.ts';
import { forAll } from '../../support/for-all.ts';

const digits = (minLength: number, maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength, maxLength }).map((list) => list.join(''));

const decimals = fc
  .tuple(digits(1, 18), digits(0, 6))
  .map(([whole, fraction]) => (fraction === '' ? whole : `${whole}.${fraction}`));

/** The value in billionths, computed with whole numbers only. */
const value = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
};

describe('canonicalDecimal', () => {
  test.each([
    ['100', '100'],
    ['100.00', '100'],
    ['100.50', '100.5'],
    ['0.10', '0.1'],
    ['007', '7'],
    ['000.000', '0'],
    ['12345678901234567.8901', '12345678901234567.8901'],
  ])('writes %s as %s', (text, canonical) => {
    expect(canonicalDecimal(text)).toBe(canonical);
  });

  test.each([
    ...['', '.5', '5.', '-1', '+1', '1e3', '1,000', ' 1', '1\n', '٣', '0x10', 'NaN', '1'.repeat(25)],
  ])('does not accept %j', (text) => {
    expect(canonicalDecimal(text)).toBeUndefined();
  });

  forAll([decimals, decimals])('keeps the value of every decimal, and writes equal ones alike', (a, b) => {
    expect(value(canonicalDecimal(a)!)).toBe(value(a));
    expect(sameDecimal(a, b)).toBe(value(a) === value(b));
    expect([isGreaterDecimal(a, b), isGreaterDecimal(a, a)]).toEqual([value(a) > value(b), false]);
  });

  forAll([decimals])('does not change its own result', (text) => {
    const canonical = canonicalDecimal(text)!;
    expect(canonicalDecimal(canonical)).toBe(canonical);
  });
});

test('a text that is not a decimal equals nothing, not even itself, and is not compared', () => {
  expect(sameDecimal('1e3', '1e3')).toBe(false);
  expect(sameDecimal('100', 'NaN')).toBe(false);
  expect([isGreaterDecimal('1e3', '1'), isGreaterDecimal('1', '-1')]).toEqual([false, false]);
});
