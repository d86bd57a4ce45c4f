import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PgbenchScripts } from '../baselines/pgbench-scripts.ts';
import { perRequest, withCpu } from '../contender.ts';
import type { Contender } from '../contender.ts';
import { latenciesOf } from '../latencies.ts';
import type { Latencies } from '../latencies.ts';
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

/** Transactions at a steady rate, whatever they take. Times begin when a transaction is due. */
export interface SteadyPgbench {
  readonly connections: number;
  readonly seconds: number;
  readonly perSecond: number;
}

/** pgbench opens a connection for each client, so it gets fewer clients than the other contenders. */
const maxPgbenchClients = 80;

/** PostgreSQL's own load generator in C, with prepared statements. */
export const pgbenchContender = (
  script: keyof PgbenchScripts['texts'],
  options: PgbenchOptions,
): Contender => ({
  name: `pgbench ${script}`,
  run: async (connections, seconds) => {
    const { result, cpuSeconds } = await withCpu({ postgres: () => familyOf(options.postmaster) }, () =>
      runScript(script, options, { connections, seconds }),
    );
    const { requests, generatorCpuSeconds, p50, p99, ...sample } = result;
    const cpu_us = perRequest({ ...cpuSeconds, generator: generatorCpuSeconds }, requests);
    return { ...sample, p50_ms: p50, p99_ms: p99, cpu_us };
  },
});

export const runPgbenchSteadily = (
  script: keyof PgbenchScripts['texts'],
  options: PgbenchOptions,
  steady: SteadyPgbench,
): Promise<Latencies> => runScript(script, options, steady);

async function runScript(
  script: keyof PgbenchScripts['texts'],
  { databaseUrl, scripts, seeded, nextRun }: PgbenchOptions,
  load: Omit<SteadyPgbench, 'perSecond'> & Partial<SteadyPgbench>,
) {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-pgbench-'));
  try {
    const file = join(folder, 'script.sql');
    await writeFile(file, scripts.texts[script]);
    const variables = { ...scripts.variables, seeded, run: nextRun() };
    return await runPgbench({ databaseUrl, file, folder, variables, ...load });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runPgbench(options: {
  readonly databaseUrl: string;
  readonly file: string;
  readonly folder: string;
  readonly variables: Readonly<Record<string, string | number>>;
  readonly connections: number;
  readonly seconds: number;
  readonly perSecond?: number;
}) {
  const clients = Math.min(options.connections, maxPgbenchClients);
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
      ...(options.perSecond === undefined ? [] : [`--rate=${options.perSecond}`]),
      // The transactions of which pgbench logs the duration, for percentiles. They are few, so that the log costs
      // nothing.
      '--log',
      `--log-prefix=${logPrefix}`,
      `--sampling-rate=${clients === 1 || options.perSecond !== undefined ? 1 : 0.2}`,
      options.databaseUrl,
    ],
    { LC_ALL: 'C' },
  );
  const figure = (pattern: RegExp): number => Number(pattern.exec(output)?.[1]);
  const perSecond = figure(/^tps = ([0-9.]+)/m);
  if (!(perSecond > 0)) throw new Error(`pgbench printed no result:\n${output}`);
  return {
    ...latenciesOf(await readLatencies(options.folder)),
    perSecond,
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
