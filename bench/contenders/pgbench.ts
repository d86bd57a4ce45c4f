import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PgbenchScripts } from '../baselines/pgbench-scripts.ts';
import { perRequest, withCpu } from '../contender.ts';
import type { Contender } from '../contender.ts';
import { latenciesOf } from '../latencies.ts';
import { captureTimed } from '../load/capture.ts';
import { familyOf } from '../load/process-usage.ts';

export interface PgbenchOptions {
  /** A database with the same content as Gatehouse's, without other connections. */
  readonly databaseUrl: string;
  readonly scripts: PgbenchScripts;
  readonly seeded: number;
  readonly postmaster: number;
  readonly nextRun: () => number;
}

/** pgbench opens a connection for each client, and PostgreSQL's default limit is 100. */
export const mostPgbenchClients = 80;

/** PostgreSQL's own load generator in C, with prepared statements. */
export function pgbenchContender(
  script: keyof PgbenchScripts['texts'],
  { databaseUrl, scripts, seeded, postmaster, nextRun }: PgbenchOptions,
): Contender {
  return {
    name: `pgbench ${script}`,
    run: async (connections, seconds) => {
      const folder = await mkdtemp(join(tmpdir(), 'gatehouse-pgbench-'));
      try {
        const file = join(folder, 'script.sql');
        await writeFile(file, scripts.texts[script]);
        const variables = { ...scripts.variables, seeded, run: nextRun() };
        const { result, cpuSeconds } = await withCpu({ postgres: () => familyOf(postmaster) }, () =>
          runPgbench({ databaseUrl, file, folder, variables, connections, seconds }),
        );
        const { requests, generatorCpuSeconds, ...sample } = result;
        return { ...sample, cpu_us: perRequest({ ...cpuSeconds, generator: generatorCpuSeconds }, requests) };
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  };
}

async function runPgbench(options: {
  readonly databaseUrl: string;
  readonly file: string;
  readonly folder: string;
  readonly variables: Readonly<Record<string, string | number>>;
  readonly connections: number;
  readonly seconds: number;
}) {
  const clients = Math.min(options.connections, mostPgbenchClients);
  const logPrefix = join(options.folder, 'log');
  const { output, cpuSeconds } = await captureTimed(
    'pgbench',
    [
      '--no-vacuum',
      '--protocol=prepared',
      `--client=${clients}`,
      `--jobs=${Math.min(2, clients)}`,
      `--time=${options.seconds}`,
      ...Object.entries(options.variables).map(([name, value]) => `--define=${name}=${value}`),
      `--file=${options.file}`,
      // The transactions of which pgbench logs the duration, for percentiles. They are few, so that the log costs
      // nothing.
      '--log',
      `--log-prefix=${logPrefix}`,
      `--sampling-rate=${clients === 1 ? 1 : 0.2}`,
      options.databaseUrl,
    ],
    { LC_ALL: 'C' },
  );
  const figure = (pattern: RegExp): number => Number(pattern.exec(output)?.[1]);
  const perSecond = figure(/^tps = ([0-9.]+)/m);
  if (!(perSecond > 0)) throw new Error(`pgbench printed no result:\n${output}`);
  const { p50, p99 } = latenciesOf(await readLatencies(options.folder));
  return {
    perSecond,
    p50_ms: p50,
    p99_ms: p99,
    failed: figure(/^number of failed transactions: ([0-9]+)/m),
    requests: figure(/^number of transactions actually processed: ([0-9]+)/m),
    generatorCpuSeconds: cpuSeconds,
  };
}

/** In milliseconds, from the third field of the log's lines, which is in microseconds. */
async function readLatencies(folder: string): Promise<number[]> {
  const files = (await readdir(folder)).filter((name) => name.startsWith('log.'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap((text) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => Number(line.split(' ')[2]) / 1000),
  );
}
