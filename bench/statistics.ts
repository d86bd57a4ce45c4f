/** The median: the middle value, or the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return Number.NaN;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** Half the distance between the largest and the smallest value, as a fraction of the median. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2 / median(values);
}

/** A percentile by the nearest rank: the given fraction of the values, such as 0.99, is at or below the result. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

/** A ratio, and where it would be after many more measurements. */
export interface Ratio {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Leaves out the given part of the pairs, such as 0.1: those with the largest sums. What else the machine does hits a pair as a whole, so
 * this favours neither of its values.
 */
export function withoutLargest<Pair extends readonly [number, number]>(
  pairs: readonly Pair[],
  part: number,
): Pair[] {
  const kept = Math.ceil(pairs.length * (1 - part));
  return pairs.toSorted(([a, b], [c, d]) => a + b - c - d).slice(0, kept);
}

/**
 * The ratio of the sums of pairs, with an interval that contains that of all possible pairs with a probability of about 95 %. The two
 * values of a pair may vary together, such as with the load of the machine. Twenty pairs or more are needed.
 */
export function ratioOfPairs(pairs: readonly (readonly [value: number, toValue: number])[]): Ratio {
  const sumOf = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0);
  const whole = sumOf(pairs.map(([, toValue]) => toValue));
  const ratio = sumOf(pairs.map(([value]) => value)) / whole;
  const deviation = Math.sqrt(sumOf(pairs.map(([value, toValue]) => (value - ratio * toValue) ** 2)));
  const within = (1.96 * deviation) / whole;
  return { ratio, low: ratio - within, high: ratio + within };
}
