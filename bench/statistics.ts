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

/** Where the median of many more values would be. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * The interval that contains the median of all possible values with a probability of at least 95 %, whatever their distribution is.
 * As many values are below it as above it. Fewer than six values decide nothing.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((a, b) => a - b);
  // How many values are below the median is as random as the heads of thrown coins.
  const below = Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length) - 0.5);
  return { low: sorted[below] ?? -Infinity, high: sorted[sorted.length - 1 - below] ?? Infinity };
}
