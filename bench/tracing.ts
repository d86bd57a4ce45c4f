/**
 * The cost of tracing: the CPU of a request in facade and core while tracing is off, and while 1 % of the requests are recorded. The promise
 * is less than 3 % more. The CPU of the same work differs by 15 % from one second to the next, because other programs use the caches. Two
 * processes with the same settings differ by several percent for as long as they run. So one facade and one core handle turns of both
 * kinds, each of some hundredths of a second, and each pair of turns is compared. The tenth of the pairs with the most CPU is left out.
 * While tracing is off, no span begins; what then remains of tracing was measured in loops (docs/operating/tracing.md).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cpus, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { benchmark, wholeNumber } from './command-line.ts';
import { judgeOverhead } from './judgement/overhead.ts';
import { fineCpuSecondsOf } from './load/process-usage.ts';
import { registration, sendRequests, verifyEnded, verifyPending } from './load/send-requests.ts';
import type { Request } from './load/send-requests.ts';
import { ratioOfPairs, withoutLargest } from './statistics.ts';
import type { CleanUps } from './system/clean-ups.ts';
import { startCollector } from './system/collector.ts';
import { startGatehouse } from './system/gatehouse.ts';
import { prepare } from './system/prepare.ts';
import { withEverythingStopped } from './system/with-everything-stopped.ts';

const promisedBelow = 0.03;
/** The requests of a turn, which are sent at once. */
const requestsAtOnce = 64;
const orders = 500;
/** After the answers, core publishes events. */
const pauseMs = 8;
/** The code is compiled several times until it is as fast as it gets. */
const warmUpRounds = 300;
/** The part of the rounds that is left out, because other programs, compilation or a full garbage collection disturbed them. */
const disturbed = 0.1;

const scenarios: Readonly<Record<string, Request>> = {
  register: registration,
  'verify pending': verifyPending(orders),
  'verify ended': verifyEnded(orders),
};

/** The CPU of a request in microseconds: traced, and not. */
type Round = readonly [traced: number, untraced: number];

async function measure(rounds: number, cleanUps: CleanUps): Promise<void> {
  const { databases, merchant } = await prepare([orders], cleanUps);
  const collector = await startCollector();
  cleanUps.add(collector.stop);
  const gatehouse = await startGatehouse({
    databaseUrl: databases[0]?.url ?? '',
    seeded: orders,
    nodeOptions: ['--import', join(import.meta.dirname, 'system/switch-tracing.ts')],
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
    },
  });
  cleanUps.add(gatehouse.stop);
  const processes = [...gatehouse.facades, ...gatehouse.cores].map(({ pid }) => pid);
  // New connections in each turn would cost as much as many requests.
  const pool = new Pool(gatehouse.urls[0] ?? '', { connections: requestsAtOnce, keepAliveTimeout: 600_000 });
  cleanUps.add(() => pool.close());
  let after = 0;
  const turn = async (request: Request, traced: boolean): Promise<number> => {
    const before = fineCpuSecondsOf(processes);
    const sent = {
      count: requestsAtOnce,
      connections: requestsAtOnce,
      headers: { 'x-traced': traced ? '1' : '0' },
    };
    await sendRequests({ ...sent, pool, apiKey: merchant.testKey, after, request });
    after += requestsAtOnce;
    await delay(pauseMs);
    return ((fineCpuSecondsOf(processes) - before) * 1e6) / requestsAtOnce;
  };
  /** Two turns of each kind. Both kinds have their middle at the middle of the round, and begin every other round. */
  const measureRounds = async (request: Request, count: number): Promise<Round[]> => {
    const all: Round[] = [];
    while (all.length < count) {
      const first = all.length % 2 === 0;
      const costs = new Map([
        [true, 0],
        [false, 0],
      ]);
      for (const traced of [first, !first, !first, first])
        costs.set(traced, (costs.get(traced) ?? 0) + (await turn(request, traced)) / 2);
      all.push([costs.get(true) ?? Number.NaN, costs.get(false) ?? Number.NaN]);
    }
    return all;
  };

  for (const request of Object.values(scenarios)) await measureRounds(request, warmUpRounds);
  console.log(
    `CPU of a request in facade and core, and the ratio to tracing being off with an interval of 95 %; the promise is below ${1 + promisedBelow}`,
  );
  for (const [scenario, request] of Object.entries(scenarios))
    print(scenario, await measureRounds(request, rounds));
  if (collector.bytes() === 0) throw new Error('no span reached the collector');
}

function print(scenario: string, rounds: readonly Round[]): void {
  const kept = withoutLargest(rounds, disturbed);
  const compared = ratioOfPairs(kept);
  const untraced = kept.reduce((sum, [, each]) => sum + each, 0) / kept.length;
  const verdict = judgeOverhead(compared, promisedBelow);
  const [ratio, low, high] = [compared.ratio, compared.low, compared.high].map((each) => each.toFixed(3));
  console.log(
    `  ${scenario.padEnd(15)}${untraced.toFixed(1).padStart(7)} µs  ${ratio} (${low} to ${high})  ${verdict}`,
  );
  if (verdict === 'not met') process.exitCode = 1;
}

const { rounds } = benchmark(
  'bench:tracing',
  'Measures the CPU that tracing costs a request, and fails when 1 % of recorded requests cost 3 % or more.',
)
  .option('--rounds <number>', 'rounds of each kind of request; twenty or more', wholeNumber, 2_000)
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
