/** Digits, with or without a point and more digits. No wallet exceeds these lengths. */
const decimal = /^[0-9]{1,24}(?:\.[0-9]{1,12})?$/;

/** The one way to write a decimal; undefined for other texts. */
export function canonicalDecimal(text: string): string | undefined {
  if (!decimal.test(text)) return undefined;
  const [whole = '', fraction = ''] = text.split('.');
  return `${whole.replace(/^0+(?=[0-9])/, '')}.${fraction.replace(/0+$/, '')}`;
}

/** Whether two texts are the same decimal, such as `100`, `100.0` and `0100.00`. False if one is not a decimal. */
export function sameDecimal(a: string, b: string): boolean {
  const written = canonicalDecimal(a);
  return written !== undefined && written === canonicalDecimal(b);
}
