/** The characters of an id's end, of 5 bits each, in its public form. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** The last 15 hexadecimal digits of a stored id whose public form ends with these 12 characters; undefined for other texts. */
export function storedEndOf(publicEnd: string): string | undefined {
  if (publicEnd.length !== 12) return undefined;
  let bits = 0n;
  for (const character of publicEnd) {
    const five = alphabet.indexOf(character);
    if (five === -1) return undefined;
    bits = (bits << 5n) | BigInt(five);
  }
  return bits.toString(16).padStart(15, '0');
}

/** In SQL: the last 15 hexadecimal digits of an attempt's id, as the index of attempts that were sent and have not SUCCEEDED has them. */
export const storedEnd = (attempt: string): string => `right(replace(${attempt}.id::text, '-', ''), 15)`;
/** In SQL: whether that index has the attempt. */
export const isSearchedByEnd = (attempt: string): string =>
  `${attempt}.leases > 0 and ${attempt}.status <> 'SUCCEEDED'`;
