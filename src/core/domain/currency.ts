import { type Issue, requiredIssue } from './issue.ts';
import { type Result, err, ok } from './result.ts';

/** A currency in which an order can be paid. */
export interface Currency {
  /** ISO 4217 alphabetic code, upper case. */
  readonly code: string;
  /** Decimals of the minor unit: 2 for ETB, whose minor unit is a hundredth. */
  readonly exponent: number;
}

/**
 * The active codes of ISO 4217 list one by their minor unit. Codes without one (precious metals, SDR, testing, no
 * currency) are left out: no amount can be written in them.
 */
const codesByExponent: readonly (readonly [exponent: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [
    2,
    `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY
     COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS
     INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR
     MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP
     STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG`,
  ],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
];

const currencies: ReadonlyMap<string, Currency> = new Map(
  codesByExponent.flatMap(([exponent, codes]) =>
    codes.split(/\s+/).map((code): [string, Currency] => [code, { code, exponent }]),
  ),
);

export const Currency = {
  /**
   * Reads a currency code that a caller sent.
   * `accepted` are the codes of this deployment. Issue: empty, not an upper-case ISO 4217 code, or not accepted.
   */
  parse(text: string, field: string, accepted: readonly string[]): Result<Currency, Issue> {
    if (text === '') return err({ field, issue: requiredIssue });
    const currency = accepted.includes(text) ? currencies.get(text) : undefined;
    if (currency === undefined) return err({ field, issue: `must be one of ${accepted.join(', ')}` });
    return ok(currency);
  },

  /** The currency of a code that was parsed before, or that an operator configured. Throws RangeError when unknown. */
  of(code: string): Currency {
    const currency = currencies.get(code);
    if (currency === undefined) {
      throw new RangeError(`${JSON.stringify(code)} is not an active ISO 4217 code with a minor unit`);
    }
    return currency;
  },
};
