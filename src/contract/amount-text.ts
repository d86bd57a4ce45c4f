import type { Language } from '../platform/language/language.ts';

/** Decimal text as the contract gives it: digits, and a point with decimals or none. */
type DecimalText = `${number}`;

/** A wallet may name a currency in words of its own, which Intl takes for a mistake. */
const isCurrencyCode = (text: string): boolean => /^[A-Z]{3}$/.test(text);

const isDecimalText = (text: string): text is DecimalText => /^[0-9]+(\.[0-9]+)?$/.test(text);

/**
 * An amount as readers of a language write it: `ETB 1,000.50`, `ብር 1,000.50`. Never fewer decimals than the currency has,
 * and every digit of the text: Intl takes decimal text as the exact number it says (ECMA-402, ToIntlMathematicalValue),
 * so it is never a float on the way.
 */
export function amountText(amount: string, currency: string, language: Language): string {
  if (!isDecimalText(amount) || !isCurrencyCode(currency)) return `${currency} ${amount}`;
  const format = (options: Intl.NumberFormatOptions) =>
    new Intl.NumberFormat(language, { style: 'currency', currency, ...options });
  const usual = format({}).resolvedOptions().maximumFractionDigits ?? 0;
  const decimals = Math.max(usual, amount.split('.')[1]?.length ?? 0);
  return format({ minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(amount);
}
