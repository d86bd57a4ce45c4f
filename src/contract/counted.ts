/** A number and its noun in English, as in "1 order" and "2 orders". `several`: the plural, if it is not `one` with an s. */
export const counted = (count: bigint | number | string, one: string, several = `${one}s`): string =>
  `${count} ${String(count) === '1' ? one : several}`;
