import type { Measured } from '../contender.ts';
import { median } from '../statistics.ts';

/**
 * The result of a contender divided by that of another in the same run. Ratios differ less between machines than
 * figures do.
 */
export interface Ratio {
  readonly name: string;
  readonly value: number;
}

type Figure = 'perSecond' | 'p50_ms';

const pairs: readonly {
  readonly of: string;
  readonly to: string;
  readonly figure: Figure;
  readonly name: string;
}[] = [
  {
    name: 'register / pgbench in a transaction',
    of: 'rest register',
    to: 'pgbench insert in a transaction',
    figure: 'perSecond',
  },
  {
    name: 'register / pgbench in one statement',
    of: 'rest register',
    to: 'pgbench insert in one statement',
    figure: 'perSecond',
  },
  {
    name: 'register beside webhooks / pgbench in one statement',
    of: 'rest register beside webhooks',
    to: 'pgbench insert in one statement',
    figure: 'perSecond',
  },
  {
    name: 'verify ended / bare Fastify',
    of: 'rest verify ended',
    to: 'bare Fastify verify',
    figure: 'perSecond',
  },
  {
    name: 'verify pending / bare Fastify',
    of: 'rest verify pending',
    to: 'bare Fastify verify',
    figure: 'perSecond',
  },
  {
    name: 'verify pending / pgbench select',
    of: 'rest verify pending',
    to: 'pgbench select by key',
    figure: 'perSecond',
  },
  { name: 'direct / register', of: 'rest direct', to: 'rest register', figure: 'perSecond' },
  {
    name: 'register p50 / pgbench in a transaction p50',
    of: 'rest register',
    to: 'pgbench insert in a transaction',
    figure: 'p50_ms',
  },
];

/**
 * The contenders that the named ratios compare ("register / pgbench … @ 64").
 * @throws {Error} when there is no ratio of that name.
 */
export function contendersOf(ratios: readonly string[]): ReadonlySet<string> {
  return new Set(
    ratios.flatMap((ratio) => {
      const pair = pairs.find(({ name }) => ratio.startsWith(`${name} @ `));
      if (pair === undefined)
        throw new Error(`There is no ratio "${ratio}". The ratios are in bench/judgement/ratios.ts.`);
      return [pair.of, pair.to];
    }),
  );
}

/** The median of a figure; NaN when it was not measured. */
export function medianOf(
  measured: readonly Measured[],
  contender: string,
  connections: number,
  figure: Figure | 'p99_ms',
): number {
  const found = measured.find((each) => each.contender === contender && each.connections === connections);
  return median((found?.samples ?? []).map((sample) => sample[figure]));
}

/** All ratios of medians for which both sides were measured, named "register / pgbench … @ 64". */
export function ratiosOf(measured: readonly Measured[]): Ratio[] {
  const counts = [...new Set(measured.map(({ connections }) => connections))];
  return counts
    .flatMap((connections) =>
      pairs.map(({ name, of, to, figure }) => ({
        name: `${name} @ ${connections}`,
        value: medianOf(measured, of, connections, figure) / medianOf(measured, to, connections, figure),
      })),
    )
    .filter(({ value }) => Number.isFinite(value));
}
