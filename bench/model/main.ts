/**
 * Predicts throughput and latency of registrations from their measured CPU, for machines with 1 to 64 CPUs. With --validate it
 * measures on one and two CPUs of this machine, and prints prediction and measurement beside each other.
 */
import { join } from 'node:path';
import { benchmark, positiveNumber, wholeNumber } from '../command-line.ts';
import { readReports } from '../report/reports.ts';
import { costsFrom } from './costs.ts';
import { tables } from './predict.ts';
import { validate } from './validate.ts';

const { validate: validates, ...options } = benchmark(
  'bench:model',
  'Predicts registrations a second, p50 and p99 for 1 to 64 CPUs.',
)
  .option('--from <folder>', 'results of npm run bench', join(import.meta.dirname, '../../docs/performance'))
  .option('--log-megabytes <number>', 'MB/s that the disk syncs', positiveNumber, 200)
  .option('--validate', 'measure on one and two CPUs of this machine, and compare', false)
  .option('--seconds <number>', 'duration of one run of --validate', wholeNumber, 3)
  .option('--repeats <number>', 'runs of each point of --validate', wholeNumber, 2)
  .parse()
  .opts<{
    readonly from: string;
    readonly logMegabytes: number;
    readonly validate: boolean;
    readonly seconds: number;
    readonly repeats: number;
  }>();

if (validates) {
  console.log(await validate({ ...options, megabytesPerSecond: options.logMegabytes }));
} else {
  const { load } = await readReports(options.from);
  if (load === undefined)
    throw new Error(
      `${options.from} has no load.json. Write one: npm run bench -- --parts load --out <folder>`,
    );
  const syncMs = 1_000 / load.machine.diskSyncsPerSecond;
  console.log(`Costs measured ${load.at} on ${load.machine.cores} CPUs (${load.machine.cpu}).\n`);
  console.log(tables(costsFrom(load.report.measured), { syncMs, megabytesPerSecond: options.logMegabytes }));
}
