/** Ten-thousandths in one unit of a currency: the contract writes four decimals at most, whatever the currency. */
const perUnit = 10_000n;

/** One whole unit of any currency. */
export const oneUnit = perUnit;

/**
 * No sign, no leading zero, at most four decimals, and none of them a trailing zero: "15.2" and not "15.20". That is
 * the pattern of the contract's schema; its prose is more generous, so that a client who keeps to the schema is
 * understood by everybody.
 */
export const amountPattern = '^(0|[1-9][0-9]{0,17})([.][0-9]{0,3}[1-9])?$';

/** The exact value, in ten-thousandths of the unit, of a text that matches `amountPattern`. */
export function parseAmount(text: string): bigint {
  const [whole = '', decimals = ''] = text.split('.');
  return BigInt(whole + decimals.padEnd(4, '0'));
}

/** Writes a value of ten-thousandths, zero or more, so that it matches `amountPattern`. */
export function formatAmount(value: bigint): string {
  const decimals = (value % perUnit).toString().padStart(4, '0').replace(/0+$/, '');
  const whole = (value / perUnit).toString();
  return decimals === '' ? whole : `${whole}.${decimals}`;
}

/** Whether a wallet can keep accounts in the currency: the runtime's list of ISO 4217 codes in use. */
export function isCurrency(code: string): boolean {
  return Intl.supportedValuesOf('currency').includes(code);
}
