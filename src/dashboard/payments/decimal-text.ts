/** Decimal text as a whole number of its last place; undefined when it is no such text or has more decimals than `places`. */
export function unitsOf(text: string, places: number): bigint | undefined {
  const [, whole = '', decimals = ''] = /^(0|[1-9]\d{0,11})(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole === '' || decimals.length > places) return undefined;
  return BigInt(whole + decimals.padEnd(places, '0'));
}

/** Whether one decimal text is less than another; false when one is no such text. */
export function isLess(text: string, other: string): boolean {
  const places = Math.max(placesOf(text), placesOf(other));
  const [units, otherUnits] = [unitsOf(text, places), unitsOf(other, places)];
  return units !== undefined && otherUnits !== undefined && units < otherUnits;
}

export const placesOf = (text: string): number => text.split('.')[1]?.length ?? 0;

/** The text of a whole number of the last of `places`. */
export function decimalText(units: bigint, places: number): string {
  const digits = units.toString().padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}
