import type { Currency } from './currency.ts';
import { type Issue, requiredIssue } from './issue.ts';
import { type Result, err, ok } from './result.ts';

/** An amount greater than zero. It is exact: text for people, minor units for arithmetic, and never a float. */
export interface Money {
  /** The decimal text exactly as it was sent: "100.5" stays "100.5". */
  readonly text: string;
  /** The same amount in the currency's minor unit: 10050 for 100.50 ETB. */
  readonly minorUnits: bigint;
  readonly currency: Currency;
}

/** No sign, exponent, grouping or leading zero, and ASCII digits only. */
const decimalText = /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;
const moreThan12WholeDigits = /^[0-9]{13}/;

export const Money = {
  /**
   * Reads an amount in a known currency.
   * Issue: those of `parseText`, or more decimals than the currency's minor unit has (ISO 4217).
   */
  parse(text: string, field: string, currency: Currency): Result<Money, Issue> {
    const amount = Money.parseText(text, field);
    if (!amount.ok) return amount;
    const [whole = '', decimals] = text.split('.');
    if (decimals !== undefined && decimals.length > currency.exponent) {
      return err({ field, issue: tooManyDecimals(currency) });
    }
    const minorUnits = BigInt(whole + (decimals ?? '').padEnd(currency.exponent, '0'));
    return ok({ text, minorUnits, currency });
  },

  /**
   * Checks an amount without its currency, so that a request with an invalid currency also gets the issues of its amount.
   * Issue: empty, not decimal text, more than 12 digits before the point, or zero.
   */
  parseText(text: string, field: string): Result<string, Issue> {
    if (text === '') return err({ field, issue: requiredIssue });
    if (!decimalText.test(text) || !/[1-9]/.test(text)) {
      return err({ field, issue: 'must be decimal text greater than zero, such as 100.50' });
    }
    if (moreThan12WholeDigits.test(text)) {
      return err({ field, issue: 'must have at most 12 digits before the decimal point' });
    }
    return ok(text);
  },

  /** Whether two amounts are equal in value: 100 ETB equals 100.00 ETB. */
  equal(a: Money, b: Money): boolean {
    return a.currency.code === b.currency.code && a.minorUnits === b.minorUnits;
  },

  /**
   * Writes minor units with exactly the currency's decimals: "0.00" for 0 ETB, "0" for 0 JPY.
   * Throws RangeError when negative, because no amount here can be.
   */
  formatMinorUnits(minorUnits: bigint, currency: Currency): string {
    if (minorUnits < 0n) throw new RangeError(`${minorUnits} minor units are less than zero`);
    const digits = minorUnits.toString().padStart(currency.exponent + 1, '0');
    if (currency.exponent === 0) return digits;
    return `${digits.slice(0, -currency.exponent)}.${digits.slice(-currency.exponent)}`;
  },
};

function tooManyDecimals({ code, exponent }: Currency): string {
  return exponent === 0
    ? `must be a whole number without a decimal point in ${code}`
    : `must have at most ${exponent} decimals in ${code}`;
}
