/**
 * The CPU of a request, in all processes together, as a multiple of that of bare Fastify in the same run. Time depends on what
 * else a machine does; CPU hardly does. So this runs in CI, and fails when a request costs more than twice what is expected.
 * --update stores the measured multiples as the expected ones.
 */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Pool } from 'undici';
import { benchmark } from './command-line.ts';
import { perRequest, withCpu } from './contender.ts';
import type { ProcessGroups } from './contender.ts';
import { processesOf } from './contenders/rest.ts';
import { registration, sendRequests, verifyEnded, verifyPending } from './load/send-requests.ts';
import type { Request } from './load/send-requests.ts';
import { judgeCosts } from './judgement/guard.ts';
import type { ExpectedRatios } from './judgement/guard.ts';
import type { Ratio } from './judgement/ratios.ts';
import { asFormatted } from './report/reports.ts';
import { startGatehouse } from './system/gatehouse.ts';
import { startLogged } from './system/logged-process.ts';
import { prepare } from './system/prepare.ts';
import { withEverythingStopped } from './system/with-everything-stopped.ts';
import { median } from './statistics.ts';

const expectedFile = join(import.meta.dirname, 'expected-costs.json');
const connections = 64;
const orders = 500;
// The median of two differed by a factor of two from run to run.
const turns = 3;

const scenarios: Readonly<Record<string, { readonly count: number; readonly request: Request }>> = {
  register: { count: 1_000, request: registration },
  // Many, because core goes on sealing the events of the registrations meanwhile.
  'verify pending': { count: 3_000, request: verifyPending(orders) },
  'verify ended': { count: 6_000, request: verifyEnded(orders) },
};

/** Sends requests over kept connections, and returns the CPU of one in the processes together, in microseconds. */
async function costOf(
  origin: string,
  apiKey: string,
  processes: ProcessGroups,
  after: number,
  { count, request }: { readonly count: number; readonly request: Request },
  settle: () => Promise<unknown>,
): Promise<number> {
  const pool = new Pool(origin, { connections });
  try {
    const { cpuSeconds } = await withCpu(processes, async () => {
      await sendRequests({ pool, connections, apiKey, after, count, request });
      await settle();
    });
    return Object.values(perRequest(cpuSeconds, count)).reduce((sum, value) => sum + value, 0);
  } finally {
    await pool.close();
  }
}

const measure = (): Promise<Ratio[]> =>
  withEverythingStopped(async (cleanUps) => {
    const prepared = await prepare([orders], cleanUps);
    const { databases, merchant, nextRun, postgres } = prepared;
    const gatehouse = await startGatehouse({ databaseUrl: databases[0]?.url ?? '', seeded: orders });
    cleanUps.add(gatehouse.stop);
    const fastify = await startLogged({
      file: 'bench/baselines/bare-fastify.ts',
      settings: { API_KEY: merchant.testKey },
    });
    cleanUps.add(fastify.stop);
    const ours = processesOf({ gatehouse, merchant, postmaster: postgres.postmaster, nextRun });
    const costs = new Map<string, number[]>();
    for (let turn = 0; turn <= turns; turn += 1) {
      const bare = { fastify: () => [fastify.pid] };
      const origin = String(fastify.ready['origin']);
      const least = await costOf(
        origin,
        merchant.testKey,
        bare,
        0,
        { count: 4_000, request: verifyEnded(orders) },
        () => Promise.resolve(),
      );
      for (const [name, scenario] of Object.entries(scenarios)) {
        const first = turn * scenario.count;
        const cost = await costOf(
          gatehouse.urls[0] ?? '',
          merchant.testKey,
          ours,
          first,
          scenario,
          gatehouse.settle,
        );
        // The code of the first turn is not compiled yet.
        if (turn > 0) costs.set(name, [...(costs.get(name) ?? []), cost / least]);
      }
    }
    return [...costs].map(([name, all]) => ({ name, value: median(all) }));
  });

const options = benchmark(
  'bench:cpu',
  'Measures the CPU of requests, and fails when one costs more than twice what is expected.',
)
  .option('--update', 'keep the measured multiples as the expected ones', false)
  .parse()
  .opts<{ readonly update: boolean }>();
if (!existsSync('/proc/self/stat')) {
  console.log('skipped: the CPU of a process is read from /proc, which this system does not have');
} else {
  const costs = await measure();
  if (options.update) {
    const kept = Object.fromEntries(costs.map(({ name, value }) => [name, Number(value.toFixed(1))]));
    await writeFile(expectedFile, await asFormatted(JSON.stringify(kept), 'json'));
  }
  const expected = JSON.parse(await readFile(expectedFile, 'utf8')) as ExpectedRatios;
  for (const { name, expected: wanted, measured, verdict } of judgeCosts(expected, costs)) {
    console.log(
      `${name}: ${measured?.toFixed(1) ?? 'not measured'} times the CPU of bare Fastify, expected ${wanted}`,
    );
    if (verdict === 'as expected') continue;
    console.log(
      `${name} costs more than twice what is expected. Find out where: npm run bench -- --profile <folder>`,
    );
    process.exitCode = 1;
  }
}
