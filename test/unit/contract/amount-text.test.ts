import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { amountText } from '../../../src/contract/amount-text.ts';
import { languages } from '../../../src/platform/language/language.ts';

describe('an amount is written by the rules of the language', () => {
  test.each([
    ['100.5', 'ETB', 'en', 'ETB\u00a0100.50'],
    ['100', 'ETB', 'en', 'ETB\u00a0100.00'],
    ['1250.50', 'ETB', 'am', 'ብር\u00a01,250.50'],
    ['1250.5', 'USD', 'en', '$1,250.50'],
    ['1250', 'JPY', 'en', '¥1,250'],
    ['0.125', 'KWD', 'en', 'KWD\u00a00.125'],
    ['0', 'ETB', 'en', 'ETB\u00a00.00'],
  ] as const)('%s %s in %s', (amount, currency, language, written) => {
    expect(amountText(amount, currency, language).replace(' ', '\u00a0')).toBe(written);
  });
});

test('every digit of every amount is kept, in every language', () => {
  const amounts = fc.tuple(fc.bigInt({ min: 0n, max: 999_999_999_999n }), fc.integer({ min: 0, max: 99 }));
  fc.assert(
    fc.property(amounts, fc.constantFrom(...languages), ([whole, hundredths], language) => {
      const decimals = String(hundredths).padStart(2, '0');

      const written = amountText(`${whole}.${decimals}`, 'ETB', language);

      expect(written.replace(/[^0-9.]/g, '')).toBe(`${whole}.${decimals}`);
    }),
  );
});

test('more decimals than the currency has are shown and not rounded', () => {
  expect(amountText('1.239', 'ETB', 'en')).toContain('1.239');
});
