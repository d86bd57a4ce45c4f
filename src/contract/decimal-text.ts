/** Digits, with or without a point and more digits. No wallet exceeds these lengths. */
const decimal = /^[0-9]{1,24}(?:\.[0-9]{1,12})?$/;

/**
 * The normal form of a decimal: no leading zeros, no trailing zeros after the point, and no point without digits after it.
 * Undefined for other texts, such as those with a sign, an exponent, spaces or digits of other scripts.
 */
export function canonicalDecimal(text: string): string | undefined {
  if (!decimal.test(text)) return undefined;
  const [whole = '', fraction = ''] = text.split('.');
  const wholeDigits = whole.replace(/^0+(?=[0-9])/, '');
  const fractionDigits = fraction.replace(/0+$/, '');
  return fractionDigits === '' ? wholeDigits : `${wholeDigits}.${fractionDigits}`;
}

/** Whether two texts are the same decimal, such as `100`, `100.0` and `100.00`. False if one is not a decimal. */
export function sameDecimal(a: string, b: string): boolean {
  const canonical = canonicalDecimal(a);
  return canonical !== undefined && canonical === canonicalDecimal(b);
}

/** Whether the first decimal is greater than the second. False if one is not a decimal. */
export function isGreaterDecimal(a: string, b: string): boolean {
  const [one, other] = [a, b].map(scaledUnits);
  return one !== undefined && other !== undefined && one > other;
}

/** The amount as a whole number of the smallest unit, with twelve decimals. Undefined for text that is no amount. */
function scaledUnits(text: string): bigint | undefined {
  const [whole = '', fraction = ''] = canonicalDecimal(text)?.split('.') ?? [];
  return whole === '' ? undefined : BigInt(whole + fraction.padEnd(12, '0'));
}
