/** A number and its noun in English, as in "1 order" and "2 orders". `several`: the plural, if it is not `one` with an s. */
export const counted = (count: bigint | number, one: string, several = `${one}s`): string =>
  `${count} ${BigInt(count) === 1n ? one : several}`;
