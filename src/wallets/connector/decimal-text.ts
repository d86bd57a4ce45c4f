/** Digits, and a point with more digits or not; the lengths no wallet exceeds. */
const decimal = /^[0-9]{1,24}(?:\.[0-9]{1,12})?$/;

/**
 * The one way to write a decimal: no leading zeros, no trailing zeros after the point, no point without digits after
 * it. Undefined when the text is no plain decimal: a sign, an exponent, spaces and digits of other scripts are none.
 */
export function canonicalDecimal(text: string): string | undefined {
  if (!decimal.test(text)) return undefined;
  const [whole = '', fraction = ''] = text.split('.');
  const wholeDigits = whole.replace(/^0+(?=[0-9])/, '');
  const fractionDigits = fraction.replace(/0+$/, '');
  return fractionDigits === '' ? wholeDigits : `${wholeDigits}.${fractionDigits}`;
}

/** Whether two texts are the same decimal, digit by digit: `100`, `100.0` and `100.00` are. False when one is none. */
export function sameDecimal(a: string, b: string): boolean {
  const canonical = canonicalDecimal(a);
  return canonical !== undefined && canonical === canonicalDecimal(b);
}
