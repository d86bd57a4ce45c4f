/**
 * Compares this checkout with another one of the project, on one machine in one run:
 *
 *     git worktree add ../before main && npm install --prefix ../before
 *     npm run bench:compare -- ../before --only register,verify
 *
 * Core and facade of each use their own database on one PostgreSQL and take turns, so that other load on the machine
 * affects both alike. The output is the result of this checkout divided by that of the other, with the 95 % interval of this ratio. To see how
 * much the machine alone changes it, compare two checkouts of the same commit.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadavg } from 'node:os';
import { InvalidArgumentError } from 'commander';
import { benchmark, namesOf, wholeNumber } from './command-line.ts';
import type { Contender, Sample } from './contender.ts';
import { restContender } from './contenders/rest.ts';
import type { Scenario } from './load/run-wrk.ts';
import { measureInTurns } from './measure-in-turns.ts';
import { median, ratioOfPairs } from './statistics.ts';
import { root } from './system/logged-process.ts';
import { startGatehouse } from './system/gatehouse.ts';
import { fillDatabase } from './system/fill-database.ts';
import { seedOrders } from './system/seed-orders.ts';
import { startPostgres } from './system/servers.ts';
import { withEverythingStopped } from './system/with-everything-stopped.ts';
import { missingTools } from './tools.ts';

const scenarios: readonly Scenario[] = ['register', 'verify', 'direct', 'mixed'];
const orders = 10_000;

interface Comparison {
  readonly folder: string;
  readonly only: readonly Scenario[];
  readonly connections: number;
  readonly seconds: number;
  readonly repeats: number;
}

function readComparison(): Comparison {
  const command = benchmark(
    'bench:compare',
    'Measures this checkout and another one in turns, and prints ratios.',
  )
    .argument('<folder>', 'another checkout of Gatehouse, with its packages installed', checkoutIn)
    .option('--only <names>', `what to measure, of ${scenarios.join(', ')}`, namesOf(scenarios), [
      'register',
      'verify',
      'direct',
    ])
    .option('--connections <number>', 'connections at once', wholeNumber, 64)
    .option('--seconds <number>', 'duration of one run', wholeNumber, 1)
    .option('--repeats <number>', 'pairs of runs, 20 or more for a reliable interval', wholeNumber, 24)
    .parse();
  // Commander does not type these values: checkoutIn returns the first, and the options above the second.
  const [folder] = command.processedArgs as [string];
  return { folder, ...command.opts<Omit<Comparison, 'folder'>>() };
}

function checkoutIn(text: string): string {
  const folder = resolve(text);
  if (!existsSync(join(folder, 'src/main/core.ts')))
    throw new InvalidArgumentError(`${folder} holds no checkout of Gatehouse.`);
  return folder;
}

/** Samples of this checkout and of the other, by scenario, in the order of measurement. */
type Pairs = ReadonlyMap<Scenario, readonly { readonly here: Sample; readonly there: Sample }[]>;

const compare = ({ folder, only, connections, ...turns }: Comparison): Promise<Pairs> =>
  withEverythingStopped(async (cleanUps) => {
    const postgres = await startPostgres();
    cleanUps.add(postgres.stop);
    let run = 0;
    const nextRun = (): number => (run += 1);
    const contenders: Contender[][] = [];
    for (const [side, checkout] of [
      ['here', root],
      ['there', folder],
    ] as const) {
      // Each checkout makes its own schema: an older one does not know the columns of a newer one.
      const { url, merchant } = await fillDatabase(postgres, side, checkout);
      await seedOrders(url, merchant, 1, orders);
      const gatehouse = await startGatehouse({ databaseUrl: url, seeded: orders, folder: checkout });
      cleanUps.add(gatehouse.stop);
      const under = { gatehouse, merchant, postmaster: postgres.postmaster, nextRun };
      contenders.push(only.map((each) => restContender(each, under, { name: `${side} ${each}` })));
    }
    // Both sides of a scenario follow the same ones equally often: what a registration leaves to do would slow the same side each time.
    const sides = only.map((_, index) => contenders.flatMap((each) => each[index] ?? []));
    const measured = await measureInTurns(sides, {
      ...turns,
      connections: [connections],
      warmUpSeconds: 3,
    });
    const samplesOf = (name: string): readonly Sample[] => {
      const samples = measured.find(({ contender }) => contender === name)?.samples ?? [];
      if (samples.some(({ failed }) => failed > 0))
        throw new Error(
          `Requests of ${name} failed. A failed request has another cost, so nothing can be compared.`,
        );
      return samples;
    };
    return new Map(
      only.map((scenario) => [
        scenario,
        samplesOf(`here ${scenario}`).flatMap((here, index) => {
          const there = samplesOf(`there ${scenario}`)[index];
          return there === undefined ? [] : [{ here, there }];
        }),
      ]),
    );
  });

const figures: Readonly<Record<string, (sample: Sample) => number>> = {
  rate: ({ perSecond }) => perSecond,
  'p50 ms': ({ p50_ms }) => p50_ms,
  'p99 ms': ({ p99_ms }) => p99_ms,
  'facade µs': ({ cpu_us }) => cpu_us['facade'] ?? Number.NaN,
  'core µs': ({ cpu_us }) => cpu_us['core'] ?? Number.NaN,
  'postgres µs': ({ cpu_us }) => cpu_us['postgres'] ?? Number.NaN,
};

function print(pairs: Pairs): void {
  for (const [scenario, samples] of pairs) {
    console.log(`\n${scenario}: here / there`);
    for (const [name, read] of Object.entries(figures)) {
      const pairs = samples.map(({ here, there }) => [read(here), read(there)] as const);
      const { ratio, low, high } = ratioOfPairs(pairs);
      const medians = [pairs.map(([here]) => here), pairs.map(([, there]) => there)].map(median);
      console.log(
        `  ${name.padEnd(12)} ${ratio.toFixed(2)}   (95 %: ${low.toFixed(2)} to ${high.toFixed(2)};` +
          ` medians ${medians.map((each) => each.toFixed(1)).join(' and ')})`,
      );
    }
  }
}

try {
  const comparison = readComparison();
  const missing = missingTools();
  if (missing !== undefined) throw new Error(missing);
  const before = loadavg()[0] ?? Number.NaN;
  print(await compare(comparison));
  console.log(`\nload average before: ${before.toFixed(1)}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
