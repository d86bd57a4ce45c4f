/**
 * The limit of an LRU cache: at most `count` entries. The option `max` of lru-cache would allocate memory for all entries at once, which
 * takes 5 ms and 1.5 MB for 50,000. With a size of 1 for each entry, the cache grows with its entries.
 */
export const atMost = (
  count: number,
): { readonly maxSize: number; readonly sizeCalculation: () => number } => ({
  maxSize: count,
  sizeCalculation: () => 1,
});
