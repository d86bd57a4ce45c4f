import { halvesOf } from '../parts/memory.ts';
import { keptPart } from '../parts/overload.ts';
import type { Reports } from '../report/reports.ts';
import { medianOf, ratiosOf } from './ratios.ts';

/** A target, and the last measurement of it. */
export interface Target {
  readonly text: string;
  /** Undefined when it was not measured. */
  readonly measured: string | undefined;
  readonly met: boolean | undefined;
}

type Bound = { readonly atLeast: number } | { readonly atMost: number };

function judge(text: string, value: number | undefined, bound: Bound, unit = ''): Target {
  if (value === undefined || Number.isNaN(value)) return { text, measured: undefined, met: undefined };
  const met = 'atLeast' in bound ? value >= bound.atLeast : value <= bound.atMost;
  return { text, measured: `${unit === '' ? value.toFixed(2) : value.toFixed(0)}${unit}`, met };
}

/** All targets, in the order in which they were set. */
export function judgeTargets(reports: Reports): Target[] {
  const ratios = ratiosOf(reports.load?.report.measured ?? []);
  const ratio = (name: string) => ratios.find((each) => each.name === name)?.value;
  const inTransaction = 'register / pgbench in a transaction';
  return [
    judge('register at 64 connections ≥ 1.0 × pgbench at 64 clients', ratio(`${inTransaction} @ 64`), {
      atLeast: 1,
    }),
    judge('register at 256 connections ≥ 1.2 × pgbench (at 80 clients)', ratio(`${inTransaction} @ 256`), {
      atLeast: 1.2,
    }),
    judge('verify at 64 connections ≥ 0.6 × bare Fastify', ratio('verify / bare Fastify @ 64'), {
      atLeast: 0.6,
    }),
    judge('direct at 64 connections ≥ 0.7 × register', ratio('direct / register @ 64'), { atLeast: 0.7 }),
    judge(
      "register p50 at 1 connection ≤ 3 × pgbench's at 1 client",
      ratio('register p50 / pgbench in a transaction p50 @ 1'),
      { atMost: 3 },
    ),
    ...[1, 64].map((connections) =>
      judge(
        `verify p50 at ${connections === 1 ? '1 connection' : `${connections} connections`} with 10 million orders ≤ 1.2 × that with 10 thousand`,
        sizeRatio(reports, 'verify', connections),
        { atMost: 1.2 },
      ),
    ),
    ...memoryTargets(reports),
    ...overloadTargets(reports),
  ];
}

/** The p50 of a scenario with the most orders, divided by that with the fewest. */
export function sizeRatio(reports: Reports, scenario: string, connections: number): number | undefined {
  const sizes = reports.size?.report.sizes ?? [];
  const [few, many] = [sizes[0], sizes.at(-1)];
  if (few === undefined || many === undefined || few === many) return undefined;
  const p50 = ({ measured }: typeof few): number => medianOf(measured, scenario, connections, 'p50_ms');
  return p50(many) / p50(few);
}

const largestMegabytes = 200;
/** A larger ratio between the two halves of the measured time is growth, not noise. */
const largestGrowth = 1.1;

function memoryTargets({ memory }: Reports): Target[] {
  const peak = memory?.report.peakMegabytes;
  return (['facade', 'core'] as const).flatMap((process) => {
    const { first, second } = halvesOf(memory?.report.samples ?? [], process, 'heap');
    return [
      judge(
        `${process} under ${largestMegabytes} MB at 256 connections, at its peak`,
        peak?.[process],
        { atMost: largestMegabytes },
        ' MB',
      ),
      judge(`${process}'s heap flat over minutes: second half ≤ ${largestGrowth} × first`, second / first, {
        atMost: largestGrowth,
      }),
    ];
  });
}

const tooManyRequests = 429;
const created = 201;

function overloadTargets({ overload }: Reports): Target[] {
  const report = overload?.report;
  const kept = report === undefined ? undefined : keptPart(report);
  const unclear = report?.turns
    .flatMap(({ broken, statuses }) => [
      broken,
      ...statuses.map(({ status, count, without_retry_after }) => {
        if (status === created) return 0;
        return status === tooManyRequests ? without_retry_after : count;
      }),
    ])
    .reduce((sum, count) => sum + count, 0);
  return [
    judge('overload at twice the capacity keeps ≥ 0.9 of the peak', kept, { atLeast: 0.9 }),
    judge(
      'of all requests under overload, neither made nor answered with 429 and Retry-After',
      unclear,
      { atMost: 0 },
      ' requests',
    ),
  ];
}
