import type { Ratio } from './ratios.ts';

/** The ratios of an idle machine, by name, as stored in bench/expected-ratios.json. */
export type ExpectedRatios = Readonly<Record<string, number>>;

export interface Verdict {
  readonly name: string;
  readonly expected: number;
  /** Undefined when it was not measured. */
  readonly measured: number | undefined;
  readonly verdict: 'as expected' | 'halved' | 'not measured';
}

/** A ratio below this fraction of the expected one shows a change of the code. Any other difference may be noise. */
const halved = 0.5;

/** Ratios are of rates, so only a low one is a problem. */
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
