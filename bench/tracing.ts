/**
 * What tracing costs: the CPU of a request in facade and core while tracing is off, while 1 % of the requests are recorded, and while
 * all are. The promise is less than 3 % more for 1 %. The CPU time of the same work differs by 15 % from one second to the next, with
 * what other programs do to the caches. So Gatehouses with each setting share their processes, and take turns of 64 requests that
 * last some hundredths of a second. A second Gatehouse without tracing shows how much of a difference is chance.
 */
import { existsSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { benchmark, wholeNumber } from './command-line.ts';
import { judgeOverhead } from './judgement/overhead.ts';
import { fineCpuSecondsOf } from './load/process-usage.ts';
import { registration, sendRequests, verifyEnded, verifyPending } from './load/send-requests.ts';
import type { Request } from './load/send-requests.ts';
import { median, medianInterval } from './statistics.ts';
import type { CleanUps } from './system/clean-ups.ts';
import { startCollector } from './system/collector.ts';
import { prepare } from './system/prepare.ts';
import { startSideBySide } from './system/side-by-side.ts';
import { withEverythingStopped } from './system/with-everything-stopped.ts';

const promisedBelow = 0.03;
/** The requests of a turn, which are sent at once. */
const requestsAtOnce = 64;
const orders = 500;
/** After the answers, core publishes events. */
const restMs = 8;
/** The code is compiled several times until it is as fast as it gets. */
const warmUpRounds = 100;
/**
 * Spans are sent when 512 wait, within the turn of the last one. With the default of 5 s, other turns would pay. The ratios are medians, so
 * the few turns that send the spans of 1 % hardly count. One of a hundred requests adds a hundredth of what all of them add.
 */
const exportDelayMs = 3_600_000;

const traced = (share: string) => (collectorUrl: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: share,
  OTEL_BSP_SCHEDULE_DELAY: String(exportDelayMs),
});
const untraced = () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });

/** By name, their settings: tracing is off, or on with a share of recorded requests. The first is the measure of the others. */
const contenders = {
  off: untraced,
  'off again': untraced,
  none: traced('0'),
  '1 %': traced('0.01'),
  all: traced('1'),
};
/** Sending the spans of all requests would slow down the turns of others, so these take turns apart. */
const together: readonly { readonly those: readonly Name[]; readonly share: number }[] = [
  { those: ['off', 'off again', 'none', '1 %'], share: 1 },
  { those: ['off', 'all'], share: 0.1 },
];
type Name = keyof typeof contenders;
const names = Object.keys(contenders) as Name[];

const scenarios: Readonly<Record<string, Request>> = {
  register: registration,
  'verify pending': verifyPending(orders),
  'verify ended': verifyEnded(orders),
};

/** The CPU of a request of each contender in one round, in microseconds. */
type Round = ReadonlyMap<Name, number>;

async function measure(rounds: number, cleanUps: CleanUps): Promise<void> {
  // The databases have the same size, and are named by it.
  const { databases, merchant } = await prepare(
    names.map((_, index) => orders + index),
    cleanUps,
  );
  const collector = await startCollector();
  cleanUps.add(collector.stop);
  const { gatehouses, processes } = await startSideBySide(
    names.map((name, index) => ({
      databaseUrl: databases[index]?.url ?? '',
      settings: contenders[name](collector.url),
    })),
    cleanUps,
  );
  const pools = gatehouses.map(({ url }) => {
    // New connections in each turn would cost as much as many requests.
    const pool = new Pool(url, { connections: requestsAtOnce, keepAliveTimeout: 600_000 });
    cleanUps.add(() => pool.close());
    return pool;
  });
  let lastNumber = 0;
  const turn = async (name: Name, request: Request): Promise<number> => {
    const pool = pools[names.indexOf(name)];
    if (pool === undefined) throw new Error(`there is no Gatehouse for ${name}`);
    const before = fineCpuSecondsOf(processes);
    const sent = { count: requestsAtOnce, connections: requestsAtOnce };
    await sendRequests({ ...sent, pool, apiKey: merchant.testKey, after: lastNumber, request });
    lastNumber += requestsAtOnce;
    await delay(restMs);
    return ((fineCpuSecondsOf(processes) - before) * 1e6) / requestsAtOnce;
  };
  /** Each contender has a turn on both sides of the middle of a round. The order changes from round to round. */
  const measureRounds = async (those: readonly Name[], request: Request, count: number): Promise<Round[]> => {
    const all: Round[] = [];
    while (all.length < count) {
      const costs = new Map<Name, number>();
      const order = those.map((_, index) => those[(index + all.length) % those.length] ?? 'off');
      for (const name of [...order, ...order.toReversed()])
        costs.set(name, (costs.get(name) ?? 0) + (await turn(name, request)) / 2);
      all.push(costs);
    }
    return all;
  };

  for (const request of Object.values(scenarios)) await measureRounds(names, request, warmUpRounds);
  if (collector.bytes() === 0) throw new Error('no span reached the collector');
  for (const [scenario, request] of Object.entries(scenarios)) {
    console.log(
      `\n${scenario}: CPU of a request in facade and core, and its ratio to off, with an interval of 95 %`,
    );
    for (const { those, share } of together)
      print(those, await measureRounds(those, request, Math.ceil(rounds * share)));
  }
}

function print(those: readonly Name[], rounds: readonly Round[]): void {
  const costsOf = (name: Name): number[] => rounds.map((costs) => costs.get(name) ?? Number.NaN);
  const off = costsOf('off');
  for (const name of those) {
    const costs = costsOf(name);
    const ratios = costs.map((cost, round) => cost / (off[round] ?? Number.NaN));
    const interval = medianInterval(ratios);
    const figures = `  ${name.padEnd(10)}${median(costs).toFixed(1).padStart(7)} µs`;
    const ratio = `  ${median(ratios).toFixed(3)} (${interval.low.toFixed(3)} to ${interval.high.toFixed(3)})`;
    const verdict = judgeOverhead(interval, promisedBelow);
    console.log(
      figures +
        (name === 'off' ? '' : ratio) +
        (name === '1 %' ? `  less than ${1 + promisedBelow}: ${verdict}` : ''),
    );
    if (name === '1 %' && verdict === 'not met') process.exitCode = 1;
  }
}

const { rounds } = benchmark(
  'bench:tracing',
  'Measures the CPU that tracing costs a request, and fails when 1 % of recorded requests cost 3 % or more.',
)
  .option(
    '--rounds <number>',
    'rounds of each kind of request; fewer than six decide nothing',
    wholeNumber,
    1_000,
  )
  .parse()
  .opts<{ readonly rounds: number }>();
if (!existsSync('/proc/self/schedstat')) {
  console.log('skipped: the CPU of a process is read from /proc, which this system does not have');
} else {
  const before = loadavg()[0] ?? Number.NaN;
  await withEverythingStopped((cleanUps) => measure(rounds, cleanUps));
  console.log(
    `\n${cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${cpus().length} CPUs, Node ${process.versions.node}, ${rounds} rounds; ` +
      `load average before ${before.toFixed(1)}, after ${(loadavg()[0] ?? Number.NaN).toFixed(1)}`,
  );
}
