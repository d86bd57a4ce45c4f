import { expect, test } from '@jest/globals';
import type { Measured } from '../../../bench/contender.ts';
import { costsFrom, cpuOfRequest } from '../../../bench/model/costs.ts';
import { wallsOfPostgres } from '../../../bench/model/predict.ts';
import { limitOf, simulate } from '../../../bench/model/simulate.ts';
import type { Setup } from '../../../bench/model/simulate.ts';
import { cpusIn } from '../../../bench/model/validate.ts';

const measured = (connections: number, us: number): Measured => ({
  contender: 'rest register',
  connections,
  samples: [
    {
      perSecond: 1,
      p50_ms: 1,
      p99_ms: 2,
      failed: 0,
      cpu_us: { facade: us, core: us, postgres: us, nats: us, generator: 10 },
    },
  ],
});

const costs = costsFrom([measured(1, 320), measured(256, 10)]);

const setup: Setup = {
  cpus: 2,
  facades: 1,
  cores: 1,
  clients: 64,
  generatorInside: false,
  costs,
  disk: { syncMs: 0.1, megabytesPerSecond: 1_000 },
  pauses: { everySeconds: 100, ms: 1 },
};

test('a batch and its requests share the measured CPU, alone and in a full batch', () => {
  const { batch, item } = costs.facade;
  expect(batch + item).toBeCloseTo(320);
  expect(batch / 32 + item).toBeCloseTo(10);
  expect(cpuOfRequest(costs, 1)).toBeCloseTo(4 * 320);
  expect(() => costsFrom([measured(1, 320)])).toThrow(
    /facade for "rest register" at 256 connections was not measured.*npm run bench/,
  );
});

test('one client waits for its own batch at every process, and for one sync', () => {
  const { perSecond, p50_ms, requestsACommit } = simulate({ ...setup, clients: 1 });
  const expectedMs = 3 * 0.32 + 0.1 + 1_500 / 1_000 / 1_000;
  expect(requestsACommit).toBe(1);
  expect(p50_ms).toBeCloseTo(expectedMs, 2);
  expect(Math.abs(perSecond - 1_000 / expectedMs)).toBeLessThan(20);
});

test("the number of requests in flight is rate times latency, by Little's law", () => {
  const item = { batch: 0, item: 100 };
  const even = { facade: item, core: item, postgres: item, nats: item, generator: 0 };
  const { perSecond, p50_ms } = simulate({ ...setup, costs: even, clients: 320 });
  expect(((perSecond * p50_ms) / 1_000 / 320).toFixed(1)).toBe('1.0');
});

test('the model predicts no more than the CPUs, the threads and the disk allow', () => {
  const full = simulate({ ...setup, clients: 256 });
  expect(full.perSecond * cpuOfRequest(costs, 500)).toBeLessThanOrEqual(2.02e6);
  expect(full.busy.CPUs).toBeLessThanOrEqual(1.01);
  expect(full.busy.CPUs).toBeGreaterThan(0.95);
  expect(limitOf(full)).toBe('CPUs');

  const half = simulate({ ...setup, clients: 256, cpus: 1 });
  expect(half.perSecond / full.perSecond).toBeGreaterThan(0.4);
  expect(half.perSecond / full.perSecond).toBeLessThan(0.6);

  const item = { batch: 0, item: 1 };
  const manyCpus = { ...setup, cpus: 16, clients: 512 };
  const slowFacade = simulate({
    ...manyCpus,
    costs: { ...costs, facade: { batch: 0, item: 500 }, core: item },
  });
  expect(limitOf(slowFacade)).toBe('facade');
  expect(Math.round(slowFacade.perSecond / 100)).toBe(20);

  const slowDisk = simulate({ ...manyCpus, disk: { syncMs: 1, megabytesPerSecond: 3 } });
  expect(limitOf(slowDisk)).toBe('disk');
  expect(slowDisk.perSecond).toBeLessThanOrEqual(2_000);
  expect(slowDisk.requestsACommit).toBeGreaterThan(full.requestsACommit);
});

test('garbage collections raise the p99 and not the p50', () => {
  const without = simulate({ ...setup, clients: 8 });
  const withPauses = simulate({ ...setup, clients: 8, pauses: { everySeconds: 0.2, ms: 10 } });
  expect(withPauses.p99_ms).toBeGreaterThan(without.p99_ms + 5);
  expect(withPauses.p50_ms).toBeLessThan(without.p50_ms * 1.2);
});

test('PostgreSQL is limited by its CPUs and by its log', () => {
  const walls = wallsOfPostgres(
    4,
    { ...costs, postgres: { batch: 0, item: 50 } },
    { syncMs: 1, megabytesPerSecond: 150 },
  );
  expect(walls).toEqual({ cpu: 80_000, log: 100_000 });
});

test('a list of CPUs is parsed as taskset prints it', () => {
  expect(cpusIn('0-2,5')).toEqual([0, 1, 2, 5]);
  expect(cpusIn('')).toEqual([]);
});
