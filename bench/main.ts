/**
 * Loads Gatehouse and the systems that it is compared with, in turns on this machine. Prints the results, and with --out
 * writes them to files: see docs/performance/README.md. The run starts everything in its own folders, with PostgreSQL's
 * delivered durability.
 */
import { mkdir } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { describeMachine } from './machine.ts';
import type { Machine } from './machine.ts';
import { readOptions } from './options.ts';
import type { BenchOptions } from './options.ts';
import { measureLoad } from './parts/load.ts';
import { measureMemory } from './parts/memory.ts';
import { measureOverload } from './parts/overload.ts';
import { measureSizes } from './parts/size.ts';
import { measureTails } from './parts/tails.ts';
import { measureWebhooks } from './parts/webhooks.ts';
import { drawCurves } from './report/draw-curves.ts';
import { renderResults, writeReadme } from './report/readme.ts';
import { asFormatted, readReports, writeReports } from './report/reports.ts';
import type { Dated, Part, PartReports, Reports } from './report/reports.ts';
import { prepare } from './system/prepare.ts';
import { withEverythingStopped } from './system/with-everything-stopped.ts';
import type { Prepared } from './system/prepare.ts';
import { installMissingTools, missingTools } from './tools.ts';

/** The order of measurement. The parts that flood the machine come last. */
const measurers: {
  readonly [P in Part]: (prepared: Prepared, options: BenchOptions) => Promise<PartReports[P]>;
} = {
  load: (prepared, options) =>
    measureLoad(prepared, {
      ...options,
      warmUpSeconds: 4,
      includes: (name) => name.includes(options.only),
    }),
  tails: (prepared, { repeats }) => measureTails(prepared, { connections: 64, seconds: 10, repeats }),
  size: (prepared, options) => measureSizes(prepared, { ...options, connections: [1, 64], warmUpSeconds: 4 }),
  webhooks: (_, { repeats, seconds }) =>
    measureWebhooks({
      samples: 200,
      rate: 500,
      seconds: 2 * seconds,
      repeats,
      due: 1_000_000,
      deliveries: 20_000,
    }),
  overload: (prepared, { overloadConnections, repeats, seconds }) =>
    measureOverload(prepared, {
      connections: overloadConnections,
      peakConnections: [64, 256],
      seconds: 2 * seconds,
      repeats,
    }),
  memory: (prepared, { minutes }) => measureMemory(prepared, { connections: 256, minutes }),
};

async function measureAll(options: BenchOptions, prepared: Prepared): Promise<Reports> {
  const machine = await describeMachine(prepared.postgres.settings);
  console.log(JSON.stringify(machine));
  let reports: Reports = {};
  for (const part of Object.keys(measurers) as Part[]) {
    if (!options.parts.has(part)) continue;
    const begun = performance.now();
    reports = { ...reports, [part]: await measurePart(part, options, prepared, machine) };
    console.log(`${part}: ${((performance.now() - begun) / 1000).toFixed(0)} s`);
  }
  return reports;
}

async function measurePart<P extends Part>(
  part: P,
  options: BenchOptions,
  prepared: Prepared,
  machine: Machine,
): Promise<Dated<PartReports[P]>> {
  const [loadAverage = Number.NaN] = loadavg();
  return {
    at: new Date().toISOString(),
    options: measuringOptions(process.argv.slice(2)).join(' '),
    machine: { ...machine, loadAverage },
    report: await measurers[part](prepared, options),
  };
}

/** All but the folder for the results, which is a path of one machine. */
const measuringOptions = (words: readonly string[]): readonly string[] =>
  words.filter((word, index) => word !== '--out' && words[index - 1] !== '--out');

async function run(options: BenchOptions): Promise<void> {
  if (options.install) installMissingTools();
  const missing = missingTools();
  if (missing !== undefined) throw new Error(missing);
  const sizes = options.parts.has('size') ? options.sizes : options.sizes.slice(0, 1);
  const reports = await withEverythingStopped(async (cleanUps) =>
    measureAll(options, await prepare(sizes, cleanUps, options.postgresSettings)),
  );
  console.log(`\n${await asFormatted(renderResults(reports), 'md')}`);
  if (options.out === '') return;
  await mkdir(options.out, { recursive: true });
  await writeReports(options.out, reports);
  await drawCurves(reports, options.out);
  await writeReadme(options.out, await readReports(options.out));
  console.log(`written to ${options.out}`);
}

try {
  await run(readOptions(process.argv.slice(2)));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
