import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  amountPattern,
  formatAmount,
  isCurrency,
  parseAmount,
} from '../../../src/wallet-simulator/amount.ts';

const pattern = new RegExp(amountPattern);

test("every value is written in the contract's form of amounts, and is read back exactly", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 22n - 1n }), (value) => {
      const text = formatAmount(value);
      expect(text).toMatch(pattern);
      expect(parseAmount(text)).toBe(value);
    }),
  );
});

test.each([
  ['0', 0n],
  ['0.0001', 1n],
  ['15.21', 152_100n],
  ['100.5', 1_005_000n],
  ['999999999999999999.9999', 9_999_999_999_999_999_999_999n],
])('the amount "%s" is read as %s', (text, value) => {
  expect(parseAmount(text)).toBe(value);
});

test.each([
  ...['', '-1', '01', '1.', '.5', '1.50', '0.0', '1e3', '1,000', '1.00001', '+1', '٣', '1234567890123456789'],
])('"%s" is not an amount', (text) => {
  expect(text).not.toMatch(pattern);
});

test('an existing currency is accepted, and another text is not', () => {
  expect(['ETB', 'USD', 'XQX', 'etb', ''].map(isCurrency)).toEqual([true, true, false, false, false]);
});
