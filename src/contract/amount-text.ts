import type { Language } from '../platform/language/language.ts';
import { numberFormat } from '../platform/language/formats.ts';

/** Decimal text of the contract: digits, with or without a point and decimals. */
type DecimalText = `${number}`;

/** A wallet may report an invalid currency code, for which Intl throws. */
const isCurrencyCode = (text: string): boolean => /^[A-Z]{3}$/.test(text);

const isDecimalText = (text: string): text is DecimalText => /^[0-9]+(\.[0-9]+)?$/.test(text);

/**
 * An amount in the form of a language: `ETB 1,000.50`, `ብር 1,000.50`. It has at least the decimals of the currency, and every
 * digit of the text. Intl reads decimal text exactly (ECMA-402, ToIntlMathematicalValue), so no float is involved.
 */
export function amountText(amount: string, currency: string, language: Language): string {
  if (!isDecimalText(amount) || !isCurrencyCode(currency)) return `${currency} ${amount}`;
  const decimals = Math.max(usualDecimals(currency), amount.split('.')[1]?.length ?? 0);
  return numberFormat(language, {
    style: 'currency',
    currency,
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  }).format(amount);
}

/** The decimals with which amounts in a currency are written. Core may accept more for a few currencies, because its list is ISO 4217. */
export const usualDecimals = (currency: string): number =>
  numberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 0;
