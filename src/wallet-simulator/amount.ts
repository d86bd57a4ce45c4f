/** Ten-thousandths per unit of a currency. The contract allows at most four decimals in any currency. */
const perUnit = 10_000n;

/** One whole unit of any currency. */
export const oneUnit = perUnit;

/**
 * No sign, no leading zero, at most four decimals without a trailing zero: "15.2" and not "15.20". This is the pattern
 * of the contract's schema. Its prose allows more, but every wallet understands a client that follows the schema.
 */
export const amountPattern = '^(0|[1-9][0-9]{0,17})([.][0-9]{0,3}[1-9])?$';

/** The exact value of a text that matches `amountPattern`, in ten-thousandths of the unit. */
export function parseAmount(text: string): bigint {
  const [whole = '', decimals = ''] = text.split('.');
  return BigInt(whole + decimals.padEnd(4, '0'));
}

/** Writes a non-negative value of ten-thousandths in the form of `amountPattern`. */
export function formatAmount(value: bigint): string {
  const decimals = (value % perUnit).toString().padStart(4, '0').replace(/0+$/, '');
  const whole = (value / perUnit).toString();
  return decimals === '' ? whole : `${whole}.${decimals}`;
}

/** Whether a wallet accepts the currency: the runtime's list of current ISO 4217 codes. */
export function isCurrency(code: string): boolean {
  return Intl.supportedValuesOf('currency').includes(code);
}
