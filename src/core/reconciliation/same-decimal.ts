/** Digits, and a point with more digits or not; the lengths no wallet exceeds. */
const decimal = /^[0-9]{1,24}(?:\.[0-9]{1,12})?$/;

function canonical(text: string): string | undefined {
  if (!decimal.test(text)) return undefined;
  const [whole = '', fraction = ''] = text.split('.');
  return `${whole.replace(/^0+(?=[0-9])/, '')}.${fraction.replace(/0+$/, '')}`;
}

/** Whether two texts are the same decimal, digit by digit: `100`, `100.0` and `0100.00` are. False when one is none. */
export function sameDecimal(a: string, b: string): boolean {
  const written = canonical(a);
  return written !== undefined && written === canonical(b);
}
