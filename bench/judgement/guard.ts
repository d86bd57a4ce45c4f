import type { Ratio } from './ratios.ts';

/** The ratios of an idle machine, by name, as stored in bench/expected-ratios.json. */
export type ExpectedRatios = Readonly<Record<string, number>>;

export interface Verdict {
  readonly name: string;
  readonly expected: number;
  /** Undefined when it was not measured. */
  readonly measured: number | undefined;
  readonly verdict: 'as expected' | 'halved' | 'doubled' | 'not measured';
}

/** A ratio below this fraction of the expected one shows a change of the code. Any other difference may be noise. */
const halved = 0.5;

/** Ratios are of rates, so only a low one is a problem. */
export const judgeRatios = (expected: ExpectedRatios, measured: readonly Ratio[]): Verdict[] =>
  judge(expected, measured, (value, wanted) => (value < wanted * halved ? 'halved' : 'as expected'));

/** Costs are the other way round: only a high one is a problem. */
export const judgeCosts = (expected: ExpectedRatios, measured: readonly Ratio[]): Verdict[] =>
  judge(expected, measured, (value, wanted) => (value * halved > wanted ? 'doubled' : 'as expected'));

const judge = (
  expected: ExpectedRatios,
  measured: readonly Ratio[],
  verdictOf: (value: number, wanted: number) => Verdict['verdict'],
): Verdict[] =>
  Object.entries(expected).map(([name, wanted]) => {
    const value = measured.find((each) => each.name === name)?.value;
    if (value === undefined || Number.isNaN(value))
      return { name, expected: wanted, measured: undefined, verdict: 'not measured' };
    return { name, expected: wanted, measured: value, verdict: verdictOf(value, wanted) };
  });
