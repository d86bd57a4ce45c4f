import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Currency } from '../../../src/core/domain/currency.ts';
import { Money } from '../../../src/core/domain/money.ts';
import { money } from './build-order.ts';
import { forAll } from '../../support/for-all.ts';

const notDecimalText = 'must be decimal text greater than zero, such as 100.50';

/** Currencies of every existing exponent. */
const currency = fc.constantFrom('JPY', 'ETB', 'KWD', 'CLF').map((code) => Currency.of(code));

/** A currency, and minor units that fit into 12 digits before the point. */
const amounts = currency.chain((of) =>
  fc.record({
    of: fc.constant(of),
    minorUnits: fc.bigInt({ min: 1n, max: 10n ** BigInt(12 + of.exponent) - 1n }),
  }),
);

describe('Money.parse', () => {
  test.each([
    ['100', 'ETB', 10_000n],
    ['100.5', 'ETB', 10_050n],
    ['100.50', 'ETB', 10_050n],
    ['0.01', 'ETB', 1n],
    ['0.10', 'ETB', 10n],
    ['999999999999.99', 'ETB', 99_999_999_999_999n],
    ['90071992547.40', 'ETB', 9_007_199_254_740n],
    ['1', 'JPY', 1n],
    ['999999999999', 'JPY', 999_999_999_999n],
    ['1.234', 'KWD', 1_234n],
    ['0.001', 'KWD', 1n],
    ['0.0001', 'CLF', 1n],
    ['999999999999.9999', 'CLF', 9_999_999_999_999_999n],
  ])('reads %s %s as %s minor units and keeps its text', (text, code, minorUnits) => {
    const result = Money.parse(text, 'amount', Currency.of(code));

    expect(result).toEqual({ ok: true, value: { text, minorUnits, currency: Currency.of(code) } });
  });

  test.each([
    ...['0', '0.00', '-0', '-1', '+1', '1e3', '1E3', '01', '00', '1.', '.5', '.', '1.2.3', '1,000', '1,5'],
    ...['1_000', '1 000', ' 1', '1 ', '1\n', '1\0', '0x10', '1n', 'NaN', 'Infinity', 'ETB 1'],
    ...['١٠٠', '１００', '−1', '0000000000001'],
  ])('refuses %j, which is not a decimal', (text) => {
    for (const code of ['ETB', 'JPY'])
      expect(Money.parse(text, 'amount', Currency.of(code))).toEqual({
        ...{ ok: false, error: { field: 'amount', issue: notDecimalText } },
      });
    if (text !== '00') expect(Money.parseText(text, 'amount').ok).toBe(false);
  });

  test.each([
    ['', 'ETB', 'is required'],
    ['1000000000000', 'ETB', 'must have at most 12 digits before the decimal point'],
    ['1234567890123.45', 'ETB', 'must have at most 12 digits before the decimal point'],
    ['1.001', 'ETB', 'must have at most 2 decimals in ETB'],
    ['1.000', 'ETB', 'must have at most 2 decimals in ETB'],
    ['1.2345', 'KWD', 'must have at most 3 decimals in KWD'],
    ['1.0', 'JPY', 'must be a whole number without a decimal point in JPY'],
  ])('refuses %j %s: it %s', (text, code, issue) => {
    const refused = { ok: false, error: { field: 'amount', issue } };
    expect(Money.parse(text, 'amount', Currency.of(code))).toEqual(refused);
  });

  forAll([amounts])(
    'reads back exactly what formatMinorUnits wrote, at any size and exponent',
    ({ of, minorUnits }) => {
      const text = Money.formatMinorUnits(minorUnits, of);

      expect(money(text, of.code)).toEqual({ text, minorUnits, currency: of });
    },
  );

  forAll([amounts])(
    'reads the same value with trailing zeros left out, and still keeps the text',
    ({ of, minorUnits }) => {
      const full = Money.formatMinorUnits(minorUnits, of);
      const short = full.includes('.') ? full.replace(/\.?0+$/, '') : full;

      expect(money(short, of.code)).toEqual({ text: short, minorUnits, currency: of });
    },
  );

  test('returns a value for exactly the texts of its grammar', () => {
    const nearlyAmounts = fc.string({ unit: fc.constantFrom(...'0019.-+e, '), maxLength: 16 });
    fc.assert(
      fc.property(nearlyAmounts, (text) => {
        const [whole = '', decimals, ...rest] = text.split('.');
        const isDigits = (part: string) =>
          part !== '' && [...part].every((digit) => '0123456789'.includes(digit));
        const expected =
          rest.length === 0 &&
          isDigits(whole) &&
          whole.length <= 12 &&
          (whole === '0' || !whole.startsWith('0')) &&
          (decimals === undefined || (isDigits(decimals) && decimals.length <= 2)) &&
          [...text].some((digit) => digit !== '0' && digit !== '.');

        expect(Money.parse(text, 'amount', Currency.of('ETB')).ok).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('Money.parseText', () => {
  test.each(['100.50', '0.0000000000001', '999999999999'])('accepts %s whatever the currency', (text) => {
    expect(Money.parseText(text, 'amount')).toEqual({ ok: true, value: text });
  });

  test.each([
    ['', 'is required'],
    ['0.000', notDecimalText],
    ['1234567890123', 'must have at most 12 digits before the decimal point'],
  ])('refuses %j: it %s', (text, issue) => {
    expect(Money.parseText(text, 'amount')).toEqual({ ok: false, error: { field: 'amount', issue } });
  });
});

describe('Money.equal', () => {
  test.each([
    ['100', 'ETB', '100.00', 'ETB', true],
    ['100.5', 'ETB', '100.50', 'ETB', true],
    ['100', 'ETB', '100.01', 'ETB', false],
    ['100', 'ETB', '100', 'USD', false],
    ['100', 'JPY', '1', 'ETB', false],
  ])('of %s %s and %s %s is %s', (a, aCode, b, bCode, expected) => {
    expect(Money.equal(money(a, aCode), money(b, bCode))).toBe(expected);
  });
});

describe('Money.formatMinorUnits', () => {
  test.each([
    [0n, 'ETB', '0.00'],
    [1n, 'ETB', '0.01'],
    [10n, 'ETB', '0.10'],
    [10_050n, 'ETB', '100.50'],
    [99_999_999_999_999n, 'ETB', '999999999999.99'],
    [0n, 'JPY', '0'],
    [7n, 'JPY', '7'],
    [0n, 'KWD', '0.000'],
    [1_234n, 'KWD', '1.234'],
    [5n, 'CLF', '0.0005'],
  ])('writes %s minor units of %s as %s', (minorUnits, code, expected) => {
    expect(Money.formatMinorUnits(minorUnits, Currency.of(code))).toBe(expected);
  });

  test('throws on a negative amount', () => {
    expect(() => Money.formatMinorUnits(-1n, Currency.of('ETB'))).toThrow(RangeError);
  });
});
