import type { Ratio } from '../statistics.ts';

/** Whether the interval of a measured ratio keeps a promise about its cost. */
export type Verdict = 'met' | 'not met' | 'undecided';

/**
 * Judges how much more something costs, by the interval of its ratio to the same without it. `below` is the promised share, such as
 * 0.03. An interval that includes the promise decides nothing: more measurements are needed.
 */
export function judgeOverhead({ low, high }: Pick<Ratio, 'low' | 'high'>, below: number): Verdict {
  if (high < 1 + below) return 'met';
  return low >= 1 + below ? 'not met' : 'undecided';
}
