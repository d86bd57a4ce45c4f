/**
 * Loads Gatehouse and its yardsticks side by side on this machine and prints what each did. Everything is started for
 * the run, in folders of its own, with PostgreSQL as durable as delivered: npm run bench -- --connections 1,64 --out <folder>
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { startProcess } from '../test/support/gatehouse-process.ts';
import { bareFastifyContender, gatehouseContender, pgbenchContender } from './contenders.ts';
import type { Contender, Sample } from './contenders.ts';
import { seedOrders, startGatehouse } from './gatehouse-under-load.ts';
import { usageOf } from './load/process-usage.ts';
import { drawCurves } from './draw-curves.ts';
import type { Measured } from './measured.ts';
import { median, spread } from './statistics.ts';

const { values: options } = parseArgs({
  options: {
    connections: { type: 'string', default: '1,16,64,256' },
    seconds: { type: 'string', default: '5' },
    repeats: { type: 'string', default: '3' },
    seeded: { type: 'string', default: '10000' },
    only: { type: 'string', default: '' },
    cores: { type: 'string', default: '1' },
    facades: { type: 'string', default: '1' },
    profile: { type: 'string', default: '' },
    out: { type: 'string', default: '' },
  },
});
const connectionCounts = options.connections.split(',').map(Number);
const seconds = Number(options.seconds);
const repeats = Number(options.repeats);
const seeded = Number(options.seeded);

const gatehouse = await startGatehouse({
  cores: Number(options.cores),
  facades: Number(options.facades),
  profileFolder: options.profile,
});
const fastify = await startProcess('bench/baselines/bare-fastify.ts', { API_KEY: gatehouse.apiKey });
try {
  console.log(`seeding ${seeded} orders`);
  await seedOrders(gatehouse, 1, seeded);
  let run = Date.now() % 1_000_000;
  const nextRun = (): number => (run += 1);
  const contenders: Contender[] = [
    gatehouseContender('register', gatehouse, nextRun, seeded),
    pgbenchContender('insert-in-transaction', gatehouse, seeded),
    pgbenchContender('insert-in-one-statement', gatehouse, seeded),
    gatehouseContender('verify', gatehouse, nextRun, seeded),
    bareFastifyContender(String(fastify.ready['origin']), gatehouse.apiKey, nextRun),
    pgbenchContender('select-by-key', gatehouse, seeded),
    gatehouseContender('direct', gatehouse, nextRun, seeded),
    gatehouseContender('mixed', gatehouse, nextRun, seeded),
  ].filter(({ name }) => name.includes(options.only));

  const measured = new Map<string, { contender: string; connections: number; samples: Sample[] }>();
  // What was never run before is slower than it will ever be again.
  for (const contender of contenders) await contender.run(16, Math.min(3, seconds));
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    for (const connections of connectionCounts) {
      for (const contender of contenders) {
        const key = `${contender.name} ${connections}`;
        const entry = measured.get(key) ?? { contender: contender.name, connections, samples: [] };
        measured.set(key, entry);
        const sample = await contender.run(connections, seconds);
        entry.samples.push(sample);
        console.log(
          `${contender.name} @ ${connections}: ${Math.round(sample.perSecond)}/s, p50 ${sample.p50_ms.toFixed(2)} ms` +
            (sample.failed > 0 ? `, ${sample.failed} FAILED` : ''),
        );
      }
    }
  }
  const results = [...measured.values()];
  printTable(results);
  printRatios(results);
  const memory = {
    facade_mb: gatehouse.facades.map(({ pid }) => Math.round(usageOf([pid]).peakBytes / 1e6)),
    core_mb: gatehouse.cores.map(({ pid }) => Math.round(usageOf([pid]).peakBytes / 1e6)),
  };
  console.log('peak resident memory', memory);
  if (options.out !== '') {
    const machine = {
      cpus: cpus().length,
      cpu: cpus()[0]?.model,
      memory_gb: Math.round(totalmem() / 2 ** 30),
    };
    const report = { at: new Date().toISOString(), machine, node: process.version, options, memory, results };
    await mkdir(options.out, { recursive: true });
    await writeFile(join(options.out, 'results.json'), `${JSON.stringify(report, undefined, 1)}\n`);
    await drawCurves(results, options.out);
  }
} finally {
  await fastify.stop();
  await gatehouse.stop();
}

function printTable(results: readonly Measured[]): void {
  const table = new Table({
    style: { head: [], border: [] },
    head: ['contender', 'connections', '1/s', '±', 'p50 ms', 'p99 ms', 'failed', 'CPU µs a request'],
  });
  for (const { contender, connections, samples } of results) {
    const rates = samples.map(({ perSecond }) => perSecond);
    const cpu = Object.keys(samples[0]?.cpu_us ?? {}).map(
      (name) => `${name} ${median(samples.map(({ cpu_us }) => cpu_us?.[name] ?? 0)).toFixed(0)}`,
    );
    table.push([
      contender,
      connections,
      median(rates).toFixed(0),
      `${(spread(rates) * 100).toFixed(0)} %`,
      median(samples.map(({ p50_ms }) => p50_ms)).toFixed(2),
      samples[0]?.p99_ms === undefined ? '' : median(samples.map(({ p99_ms }) => p99_ms ?? 0)).toFixed(2),
      samples.reduce((total, { failed }) => total + failed, 0),
      cpu.join(', '),
    ]);
  }
  console.log(table.toString());
}

/** Each ratio is of medians of the same run, since machines differ and are shared. */
function printRatios(results: readonly Measured[]): void {
  const find = (contender: string, connections: number) =>
    results.find((each) => each.contender === contender && each.connections === connections)?.samples;
  const rate = (contender: string, connections: number): number =>
    median((find(contender, connections) ?? []).map(({ perSecond }) => perSecond));
  const p50 = (contender: string, connections: number): number =>
    median((find(contender, connections) ?? []).map(({ p50_ms }) => p50_ms));
  const lines: [text: string, ratio: number][] = connectionCounts.flatMap((connections) => [
    [
      `register / pgbench in a transaction @ ${connections}`,
      rate('gatehouse register', connections) / rate('pgbench insert-in-transaction', connections),
    ],
    [
      `register / pgbench in one statement @ ${connections}`,
      rate('gatehouse register', connections) / rate('pgbench insert-in-one-statement', connections),
    ],
    [
      `verify / bare Fastify @ ${connections}`,
      rate('gatehouse verify', connections) / rate('bare fastify verify', connections),
    ],
    [
      `direct / register @ ${connections}`,
      rate('gatehouse direct', connections) / rate('gatehouse register', connections),
    ],
    [
      `register p50 / pgbench in a transaction @ ${connections}`,
      p50('gatehouse register', connections) / p50('pgbench insert-in-transaction', connections),
    ],
  ]);
  for (const [text, ratio] of lines) if (Number.isFinite(ratio)) console.log(`${text}: ${ratio.toFixed(2)}`);
}
