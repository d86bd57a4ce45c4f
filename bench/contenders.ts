import { runPgbench } from './baselines/run-pgbench.ts';
import type { PgbenchRun } from './baselines/run-pgbench.ts';
import type { GatehouseUnderLoad } from './gatehouse-under-load.ts';
import { familyOf, usageOf } from './load/process-usage.ts';
import { runWrk } from './load/run-wrk.ts';
import type { Scenario } from './load/run-wrk.ts';

/** What one run of a contender came to. */
export interface Sample {
  readonly perSecond: number;
  readonly p50_ms: number;
  /** Absent where the generator does not tell. */
  readonly p99_ms?: number;
  /** Requests that were answered with an error, or not at all: a run that has any says nothing about speed. */
  readonly failed: number;
  /** CPU time for each request, by process, in microseconds. */
  readonly cpu_us?: Readonly<Record<string, number>>;
}

export interface Contender {
  readonly name: string;
  readonly run: (connections: number, seconds: number) => Promise<Sample>;
}

/** Gatehouse over REST. */
export function gatehouseContender(
  scenario: Scenario,
  gatehouse: GatehouseUnderLoad,
  nextRun: () => number,
  seeded: number,
): Contender {
  const pids = () => ({
    facade: gatehouse.facades.map(({ pid }) => pid),
    core: gatehouse.cores.map(({ pid }) => pid),
    postgres: familyOf(gatehouse.postmaster),
  });
  const usage = () => Object.entries(pids()).map(([name, ids]) => [name, usageOf(ids).cpuSeconds] as const);
  return {
    name: `gatehouse ${scenario}`,
    run: async (connections, seconds) => {
      const before = new Map(usage());
      const share = Math.max(1, Math.floor(connections / gatehouse.urls.length));
      const results = await Promise.all(
        gatehouse.urls.map((url) =>
          runWrk({
            url,
            scenario,
            apiKey: gatehouse.apiKey,
            connections: share,
            seconds,
            run: nextRun(),
            seeded,
          }),
        ),
      );
      const requests = sum(results.map((result) => result.requests));
      const cpu = usage().map(([name, used]) => [name, used - (before.get(name) ?? 0)] as const);
      const all = [...cpu, ['generator', sum(results.map((result) => result.generatorCpuSeconds))] as const];
      return {
        perSecond: sum(results.map((result) => result.requests / result.seconds)),
        p50_ms: Math.max(...results.map((result) => result.p50_ms)),
        p99_ms: Math.max(...results.map((result) => result.p99_ms)),
        failed: sum(results.map(({ refused, broken }) => refused + broken)),
        cpu_us: Object.fromEntries(all.map(([name, used]) => [name, (used * 1e6) / requests])),
      };
    },
  };
}

/** The same rows with PostgreSQL's C client. */
export function pgbenchContender(
  script: PgbenchRun['script'],
  { databaseUrl, eventPayload, storedMerchantId }: GatehouseUnderLoad,
  seeded: number,
): Contender {
  return {
    name: `pgbench ${script}`,
    run: async (clients, seconds) => {
      const rows = { databaseUrl, merchantId: storedMerchantId, payload: eventPayload, seeded };
      // PostgreSQL allows 100 connections unless told otherwise, and pgbench has nobody to share its own with.
      const result = await runPgbench({ ...rows, script, clients: Math.min(clients, 80), seconds });
      return { perSecond: result.perSecond, p50_ms: result.mean_ms, failed: 0 };
    },
  };
}

/** Fastify that answers verify's JSON and does nothing for it. */
export function bareFastifyContender(origin: string, apiKey: string, nextRun: () => number): Contender {
  return {
    name: 'bare fastify verify',
    run: async (connections, seconds) => {
      const load = { url: origin, scenario: 'verify', apiKey, connections, seconds, run: nextRun() } as const;
      const result = await runWrk({ ...load, seeded: 1000 });
      return {
        perSecond: result.requests / result.seconds,
        p50_ms: result.p50_ms,
        p99_ms: result.p99_ms,
        failed: result.refused + result.broken,
      };
    },
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
