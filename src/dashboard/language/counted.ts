/** A number with its noun in English: `1 endpoint`, `2 endpoints`, `0 endpoints`. */
export const counted = (count: string | number, one: string, several = `${one}s`): string =>
  `${count} ${String(count) === '1' ? one : several}`;
