import { describe, expect, test } from '@jest/globals';
import { Currency } from '../../../src/core/domain/currency.ts';

/**
 * ISO 4217 list one as published on 2026-01-01, in its order of countries. A number follows a code whose decimals are
 * not 2.
 */
const listOne = `
  AFN EUR ALL DZD USD AOA XCD XAD ARS AMD AWG AUD AZN BSD BHD:3 BDT BBD BYN BZD XOF:0 BMD INR BTN BOB BOV BAM BWP NOK
  BRL BND BIF:0 CVE KHR XAF:0 CAD KYD CLP:0 CLF:4 CNY COP COU KMF:0 CDF NZD CRC CUP XCG CZK DKK DJF:0 DOP EGP SVC ERN
  SZL ETB FKP FJD XPF:0 GMD GEL GHS GIP GTQ GBP GNF:0 GYD HTG HNL HKD HUF ISK:0 IDR IRR IQD:3 ILS JMD JPY:0 JOD:3 KZT
  KES KPW KRW:0 KWD:3 KGS LAK LBP LSL ZAR LRD LYD:3 CHF MOP MKD MGA MWK MYR MVR MRU MUR MXN MXV MDL MNT MAD MZN MMK NAD
  NPR NIO NGN OMR:3 PKR PAB PGK PYG:0 PEN PHP PLN QAR RON RUB RWF:0 SHP WST STN SAR RSD SCR SLE SGD SBD SOS SSP LKR SDG
  SRD SEK CHE CHW SYP TWD TJS TZS THB TOP TTD TND:3 TRY TMT UGX:0 UAH AED USN UYU UYI:0 UYW:4 UZS VUV:0 VES VED VND:0
  YER ZMW ZWG`
  .trim()
  .split(/\s+/)
  .map((entry) => entry.split(':'));

/** Every possible code of three letters. */
const threeLetterCodes = letters().flatMap((a) => letters().flatMap((b) => letters().map((c) => a + b + c)));

function letters(): string[] {
  return [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
}

function isKnown(code: string): boolean {
  try {
    return Currency.of(code).code === code;
  } catch {
    return false;
  }
}

describe('Currency.of', () => {
  test.each(listOne)('knows %s with the decimals of ISO 4217', (code = '', exponent = '2') => {
    expect(Currency.of(code)).toEqual({ code, exponent: Number(exponent) });
  });

  test('does not know inactive codes, metals and test codes', () => {
    const known = threeLetterCodes.filter(isKnown);

    expect(known).toEqual(listOne.map(([code]) => code).sort());
  });

  test.each(['', 'etb', 'ETB ', 'XAU', 'XXX', '__proto__'])('throws on %j, naming it', (code) => {
    expect(() => Currency.of(code)).toThrow(
      new RangeError(`"${code}" is not an active ISO 4217 code with a minor unit`),
    );
  });
});

describe('Currency.parse', () => {
  test('returns an accepted currency', () => {
    expect(Currency.parse('USD', 'currency', ['ETB', 'USD'])).toEqual({
      ok: true,
      value: { code: 'USD', exponent: 2 },
    });
  });

  test('requires a code', () => {
    expect(Currency.parse('', 'currency', ['ETB'])).toEqual({
      ok: false,
      error: { field: 'currency', issue: 'is required' },
    });
  });

  test.each(['etb', 'Etb', ' ETB', 'ETB ', 'ETB\n', 'ETBB', 'ET', 'EUR', 'XXX', 'ＥＴＢ', 'constructor'])(
    'refuses %j and lists the accepted codes',
    (text) => {
      expect(Currency.parse(text, 'currency', ['ETB', 'USD'])).toEqual({
        ok: false,
        error: { field: 'currency', issue: 'must be one of ETB, USD' },
      });
    },
  );
});
