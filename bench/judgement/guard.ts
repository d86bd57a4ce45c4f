import type { Ratio } from './ratios.ts';

/** Ratios of a quiet machine, by name, as kept in bench/expected-ratios.json. */
export type ExpectedRatios = Readonly<Record<string, number>>;

export interface Verdict {
  readonly name: string;
  readonly expected: number;
  /** Undefined when it was not measured. */
  readonly measured: number | undefined;
  readonly verdict: 'as expected' | 'halved' | 'not measured';
}

/** Below this part of what is expected, something has happened to the code; what is above may be noise. */
const halved = 0.5;

/** Ratios are of rates: more is better, and too much is nobody's trouble. */
export function judgeRatios(expected: ExpectedRatios, measured: readonly Ratio[]): Verdict[] {
  return Object.entries(expected).map(([name, wanted]) => {
    const value = measured.find((each) => each.name === name)?.value;
    if (value === undefined || Number.isNaN(value))
      return { name, expected: wanted, measured: undefined, verdict: 'not measured' };
    return {
      name,
      expected: wanted,
      measured: value,
      verdict: value < wanted * halved ? 'halved' : 'as expected',
    };
  });
}
