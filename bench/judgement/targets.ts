import type { Latencies } from '../latencies.ts';
import { halvesOf } from '../parts/memory.ts';
import { keptPart } from '../parts/overload.ts';
import type { Reports } from '../report/reports.ts';
import { median } from '../statistics.ts';
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
  return [
    judge(
      "CPU of all processes for a registration at 64 connections ≤ 7 × bare Fastify's for a request",
      cpuRatio(reports),
      { atMost: 7 },
    ),
    ...(
      [
        [64, 0.9],
        [256, 1.2],
      ] as const
    ).map(([connections, atLeast]) =>
      judge(
        `register at ${connections} connections, beside webhooks, ≥ ${atLeast} × pgbench in one statement`,
        ratio(`register beside webhooks / pgbench in one statement @ ${connections}`),
        { atLeast },
      ),
    ),
    judge(
      'verify of PENDING orders at 64 connections ≥ 0.35 × bare Fastify',
      ratio('verify pending / bare Fastify @ 64'),
      {
        atLeast: 0.35,
      },
    ),
    judge(
      'verify of ended orders at 64 connections ≥ 0.6 × bare Fastify',
      ratio('verify ended / bare Fastify @ 64'),
      {
        atLeast: 0.6,
      },
    ),
    judge('direct at 64 connections ≥ 0.7 × register', ratio('direct / register @ 64'), { atLeast: 0.7 }),
    judge(
      'verify p50 at 64 connections over 10 million orders ≤ 1.3 × that over 10 thousand',
      sizeRatio(reports, 'verify', 64),
      { atMost: 1.3 },
    ),
    ...tailTargets(reports),
    ...webhookTargets(reports),
    ...overloadTargets(reports),
    ...memoryTargets(reports),
  ];
}

/** The CPU of a registration in all processes, divided by that of a request to bare Fastify. */
function cpuRatio({ load }: Reports): number | undefined {
  const at64 = (contender: string) =>
    load?.report.measured.find((each) => each.contender === contender && each.connections === 64);
  const cpuOf = (contender: string): number =>
    median(
      (at64(contender)?.samples ?? []).map(({ cpu_us: { generator: _, ...own } }) =>
        Object.values(own).reduce((sum, value) => sum + value, 0),
      ),
    );
  return cpuOf('rest register') / cpuOf('bare Fastify verify');
}

function tailTargets({ tails }: Reports): Target[] {
  const of = (which: 'p99' | 'p999'): number | undefined => {
    if (tails === undefined) return undefined;
    const { register, pgbench } = tails.report;
    return median(register.map((each) => each[which])) / median(pgbench.map((each) => each[which]));
  };
  return (
    [
      ['p99', 'p99'],
      ['p99.9', 'p999'],
    ] as const
  ).map(([name, which]) =>
    judge(`register ${name} at half of the best rate ≤ 4 × pgbench's at the same rate`, of(which), {
      atMost: 4,
    }),
  );
}

function webhookTargets({ webhooks }: Reports): Target[] {
  const report = webhooks?.report;
  const atRate = (which: 'p50' | 'p99'): number | undefined =>
    report === undefined ? undefined : median(report.atRate.map((each) => each[which]));
  const dispatching = report?.dispatching;
  return [
    judge(
      'webhooks: of 500 orders that end in a second, delivered',
      report === undefined ? undefined : median(report.perSecond),
      { atLeast: 490 },
      '/s',
    ),
    judge('webhooks: commit to arrival p50 at that rate < 10 ms', atRate('p50'), { atMost: 10 }, ' ms'),
    judge('webhooks: commit to arrival p99 at that rate < 50 ms', atRate('p99'), { atMost: 50 }, ' ms'),
    judge(
      'webhooks: one process sends ≥ 2,000 a second, with every attempt stored',
      dispatching?.perSecond.before,
      { atLeast: 2_000 },
      '/s',
    ),
    judge(
      'webhooks: p99 beside a million due deliveries of a hanging endpoint ≤ 1.2 × that without',
      dispatching === undefined ? undefined : medianP99(dispatching.beside) / medianP99(dispatching.idle),
      { atMost: 1.2 },
    ),
  ];
}

const medianP99 = (turns: readonly Latencies[]): number => median(turns.map(({ p99 }) => p99));

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
  const refusedMs = report?.turns.map(
    ({ statuses }) => statuses.find(({ status }) => status === tooManyRequests)?.p99_ms ?? 0,
  );
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
      'p99 of a refusal under overload ≤ 100 ms',
      refusedMs === undefined ? undefined : median(refusedMs),
      { atMost: 100 },
      ' ms',
    ),
    judge(
      'of all requests under overload, neither accepted nor answered with 429 and Retry-After',
      unclear,
      { atMost: 0 },
      ' requests',
    ),
  ];
}
