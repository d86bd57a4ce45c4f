/** The middle of the values; the mean of the two middle ones when their number is even. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return Number.NaN;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** Half the distance between the largest and the smallest, as a part of the median. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2 / median(values);
}

/** The value below or at which a part of the values lies, 0.99 say: the nearest rank. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}
