import { loadavg } from 'node:os';
import type { Measured, Sample } from '../contender.ts';
import { restContender } from '../contenders/rest.ts';
import { capture } from '../load/capture.ts';
import { describeMachine } from '../machine.ts';
import { median, spread } from '../statistics.ts';
import { startGatehouse } from '../system/gatehouse.ts';
import { prepare } from '../system/prepare.ts';
import { withEverythingStopped } from '../system/with-everything-stopped.ts';
import { calibratedAt, costsFrom } from './costs.ts';
import { measuredPauses } from './predict.ts';
import { simulate } from './simulate.ts';

export interface ValidateOptions {
  readonly seconds: number;
  readonly repeats: number;
  readonly megabytesPerSecond: number;
}

const seeded = 1_000;
const contender = 'rest register';
const comparedAt = [16, 64, 256] as const;
const cpuCounts = [2, 1] as const;

/**
 * Measures registrations on two CPUs and on one. The CPU of requests on two CPUs, alone and in full batches, is all that the model
 * gets. Returns a table of predictions and measurements.
 *
 * @throws when the machine has fewer than two CPUs or lacks `taskset`
 */
export const validate = ({ seconds, repeats, megabytesPerSecond }: ValidateOptions): Promise<string> =>
  withEverythingStopped(async (cleanUps) => {
    const loadBefore = loadavg()[0] ?? Number.NaN;
    // PostgreSQL's processes start from its postmaster, so each number of CPUs has servers of its own.
    const measured: (Measured & { readonly cpus: number })[] = [];
    let syncMs = 0;
    for (const cpus of cpuCounts) {
      await useCpus(cpus);
      const ofThese = cleanUps.nest();
      const { databases, merchant, nextRun, postgres } = await prepare([seeded], ofThese);
      if (syncMs === 0) syncMs = 1_000 / (await describeMachine(postgres.settings)).diskSyncsPerSecond;
      const gatehouse = await startGatehouse({ databaseUrl: databases[0]?.url ?? '', seeded });
      ofThese.add(gatehouse.stop);
      const loaded = restContender('register', {
        gatehouse,
        merchant,
        postmaster: postgres.postmaster,
        nextRun,
      });
      await loaded.run(calibratedAt.full, seconds);
      const points = new Set<number>([
        ...comparedAt,
        ...(cpus === 2 ? [calibratedAt.alone, calibratedAt.full] : []),
      ]);
      for (const connections of points) {
        const samples: Sample[] = [];
        while (samples.length < repeats) samples.push(await loaded.run(connections, seconds));
        measured.push({ cpus, contender, connections, samples });
      }
      await ofThese.run();
    }
    const costs = costsFrom(measured.filter(({ cpus }) => cpus === 2));
    const rows = measured
      .filter(({ connections }) => comparedAt.some((each) => each === connections))
      .map(({ cpus, connections, samples }) => {
        const predicted = simulate({
          cpus,
          facades: 1,
          cores: 1,
          clients: connections,
          generatorInside: true,
          costs,
          disk: { syncMs, megabytesPerSecond },
          pauses: measuredPauses,
        });
        const rates = samples.map(({ perSecond }) => perSecond);
        const rate = median(rates);
        const cells = [
          cpus,
          connections,
          Math.round(predicted.perSecond),
          `${Math.round(rate)} ± ${Math.round(spread(rates) * 100)} %`,
          (predicted.perSecond / rate).toFixed(2),
          predicted.p50_ms.toFixed(1),
          median(samples.map(({ p50_ms }) => p50_ms)).toFixed(1),
          predicted.p99_ms.toFixed(1),
          median(samples.map(({ p99_ms }) => p99_ms)).toFixed(1),
        ];
        return `| ${cells.join(' | ')} |`;
      });
    return [
      `Load average before ${loadBefore.toFixed(1)}; a sync of the disk takes ${syncMs.toFixed(2)} ms.`,
      '',
      '| CPUs | connections | predicted/s | measured/s | ratio | p50 predicted ms | p50 measured ms | p99 predicted ms | p99 measured ms |',
      '| --: | --: | --: | --: | --: | --: | --: | --: | --: |',
      ...rows,
    ].join('\n');
  });

/** Confines this process, and so every process that it starts from now on, to the first CPUs that it may use. */
async function useCpus(count: number): Promise<void> {
  allowed ??= cpusIn(/: (.*)$/m.exec(await capture('taskset', ['-cp', String(process.pid)]))?.[1] ?? '');
  if (allowed.length < count) throw new Error(`The comparison needs ${count} CPUs, and there is one.`);
  await capture('taskset', ['-acp', allowed.slice(0, count).join(), String(process.pid)]);
}

let allowed: readonly number[] | undefined;

/** Reads a list of CPUs as `taskset` prints it, for example `0-2,5`. */
export const cpusIn = (list: string): number[] =>
  list
    .split(',')
    .filter((range) => range.trim() !== '')
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
