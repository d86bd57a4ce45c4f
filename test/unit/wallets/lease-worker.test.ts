import { setImmediate as turn } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createLogger } from '../../../src/platform/logger.ts';
import type { Logger } from '../../../src/platform/logger.ts';
import { createWakeSignal } from '../../../src/platform/wake-signal.ts';
import type { Health } from '../../../src/wallets/connector/outcomes.ts';
import { createLeaseFailures } from '../../../src/wallets/lease-failures.ts';
import type { LeaseFailures } from '../../../src/wallets/lease-failures.ts';
import { runLeaseWorker } from '../../../src/wallets/lease-worker.ts';
import type { LeasedWork } from '../../../src/wallets/lease-worker.ts';
import { createWalletBreaker } from '../../../src/wallets/wallet-breaker.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { keptLog } from '../../support/kept-log.ts';

const logger = createLogger({ process: 'test', instance: 'lease-worker', level: 'silent' });
const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface WorkerOptions {
  readonly name?: string;
  readonly maxInFlight?: number;
  readonly idleMs?: number;
  readonly cooldownMs?: number;
  readonly ask?: () => Promise<Health>;
  readonly log?: Logger;
  readonly failures?: LeaseFailures;
  readonly nothingDueForMs?: number;
  readonly isSignalled?: boolean;
}

const unreported: Health = { kind: 'unreported', detail: 'no heartbeat' };

const succeed = () => Promise.resolve(true);

/** Starts a worker on a list of work, and stops it after the test. */
function start(
  {
    lease,
    serve = succeed,
  }: {
    readonly lease: (limit: number) => Promise<readonly number[]>;
    readonly serve?: LeasedWork<number>['serve'];
  },
  {
    name = 'test',
    maxInFlight = 4,
    idleMs = 5,
    cooldownMs = 50,
    ask = () => Promise.resolve(unreported),
    log = logger,
    failures = createLeaseFailures(log),
    nothingDueForMs,
    isSignalled = true,
  }: WorkerOptions = {},
) {
  const signal = createWakeSignal();
  const breaker = createWalletBreaker({ wallet: 'test', logger, cooldownMs, threshold: 3, ask });
  const stopping = new AbortController();
  const polling = { idleMs, isSignalled: () => isSignalled, signal };
  const options = { ...polling, maxInFlight, breaker, failures, logger: log };
  const work = {
    name,
    idsOf: (item: number) => ({ item: String(item) }),
    lease: async (limit: number) => ({ items: await lease(limit), nothingDueForMs }),
    serve,
  };
  const running = runLeaseWorker(work, options, stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  stops.push(stop);
  return { signal, breaker, stop };
}

/** Core's answers to the calls, the first of which has the number 1. */
function answering(answer: (call: number) => readonly number[] | Promise<readonly number[]>) {
  let calls = 0;
  const lease = async (): Promise<readonly number[]> => {
    await turn();
    return answer((calls += 1));
  };
  return { lease, calls: () => calls };
}

/** Returns the next numbers, from 0 on. */
function endless() {
  let next = 0;
  const limits: number[] = [];
  return {
    limits,
    lease: async (limit: number): Promise<number[]> => {
      await turn();
      limits.push(limit);
      return Array.from({ length: limit }, () => next++);
    },
  };
}

test('no more tasks run than allowed, and the next are leased as soon as one ends', async () => {
  const work = endless();
  const gates: PromiseWithResolvers<boolean>[] = [];
  const serve = (item: number) => (gates[item] = Promise.withResolvers()).promise;
  const { stop } = start({ lease: work.lease, serve });
  await waitUntil('all slots are taken', () => gates.length === 4);

  gates[0]?.resolve(true);
  await waitUntil('the free place is taken', () => gates.length === 5);

  expect(work.limits).toEqual([4, 1]);
  const stopped = stop();
  gates.forEach(({ resolve }) => resolve(true));
  await stopped;
});

test('a wake-up during an answer of core leases newly due work at once', async () => {
  const answered = Promise.withResolvers<readonly number[]>();
  const { lease, calls } = answering((call) => (call === 1 ? answered.promise : []));
  const { signal } = start({ lease }, { idleMs: 60_000 });
  await waitUntil('core is asked', () => calls() === 1);

  signal.ring();
  answered.resolve([]);

  await waitUntil('core is asked again', () => calls() === 2, 30_000);
});

test('the time of a lease begins when it is requested', async () => {
  const answered = Promise.withResolvers<readonly number[]>();
  const served = Promise.withResolvers<number>();
  const { lease, calls } = answering((call) => (call === 1 ? answered.promise : []));
  start({ lease, serve: (_item, askedAtMs) => (served.resolve(askedAtMs), succeed()) });
  await waitUntil('core is asked', () => calls() === 1);

  const laterMs = performance.now();
  answered.resolve([1]);

  expect(await served.promise).toBeLessThanOrEqual(laterMs);
});

describe('when core says how long nothing is due', () => {
  const minuteMs = 60_000;
  const nothing = () => answering(() => []);

  test('the worker asks again at that time', async () => {
    const { lease, calls } = nothing();
    start({ lease }, { idleMs: minuteMs, nothingDueForMs: 1 });

    await waitUntil('core is asked again', () => calls() > 2, 30_000);
  });

  test('announced work is leased before that time', async () => {
    const { lease, calls } = nothing();
    const { signal } = start({ lease }, { idleMs: 1, nothingDueForMs: minuteMs });
    await waitUntil('core is asked', () => calls() === 1);

    signal.ring();

    await waitUntil('core is asked again', () => calls() === 2, 30_000);
  });

  test('the worker asks sooner while the broker is unavailable', async () => {
    const { lease, calls } = nothing();
    start({ lease }, { idleMs: 1, nothingDueForMs: minuteMs, isSignalled: false });

    await waitUntil('core is asked again', () => calls() > 2, 30_000);
  });
});

test('a failed call to core is repeated, for a lease and for a record', async () => {
  let served = 0;
  const { lease } = answering((call) => {
    if (call === 1) throw new Error('away');
    return [call];
  });
  start({
    lease,
    serve: () => {
      served += 1;
      return Promise.reject(new Error('not recorded'));
    },
  });

  await waitUntil('work goes on', () => served > 10);
});

test('the log line about failed work names the item', async () => {
  const { logger: log, log: lines } = keptLog({ level: 'info' });
  const { lease } = answering((call) => (call === 1 ? [7] : []));
  start({ lease, serve: () => Promise.reject(new Error('not recorded')) }, { log });

  await waitUntil('the failure is logged', () => lines.length > 0);

  expect(lines).toMatchObject([
    { msg: 'work failed; it is repeated when its lease expires', work: 'test', item: '7' },
  ]);
});

test('an outage of core is logged once for all workers, and so is its end', async () => {
  const { logger: log, log: lines } = keptLog({ level: 'info' });
  const failures = createLeaseFailures(log);
  let isAvailable = false;
  const codes = [Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted];
  const workers = codes.map((code, index) => {
    const { lease, calls } = answering((call) => {
      // Another core already answers one of the workers at times.
      if (isAvailable || (index === 0 && call % 2 === 0)) return [];
      throw new ConnectError('away', code);
    });
    start({ lease }, { idleMs: 1, failures, name: `worker ${index}` });
    return calls;
  });
  const allHaveAsked = (times: number) => () => workers.every((calls) => calls() > times);

  await waitUntil('all have asked in vain', allHaveAsked(5));
  isAvailable = true;
  const before = Math.max(...workers.map((calls) => calls()));
  await waitUntil('all have got an answer', allHaveAsked(before + 1));

  expect(lines).toMatchObject([
    { level: 'warn', msg: 'work could not be leased from core; trying again' },
    { level: 'info', msg: 'core answers again; work continues' },
  ]);
});

test('an error that is no outage is logged during one too', () => {
  const { logger: log, log: lines } = keptLog({ level: 'info' });
  const failures = createLeaseFailures(log);
  for (const code of [Code.Unavailable, Code.Unauthenticated, Code.Unavailable, Code.Unauthenticated])
    failures.failed(`worker ${lines.length}`, new ConnectError('away', code));

  expect(lines).toHaveLength(2);
});

test('after a stop, the worker leases nothing new and completes what it has begun', async () => {
  const work = endless();
  const gate = Promise.withResolvers<boolean>();
  const done: number[] = [];
  const { stop } = start({
    lease: work.lease,
    async serve(item) {
      const isHealthy = await gate.promise;
      done.push(item);
      return isHealthy;
    },
  });
  await waitUntil('it is at work', () => work.limits.length === 1);

  const stopped = stop();
  gate.resolve(true);
  await stopped;

  expect(done).toEqual([0, 1, 2, 3]);
  expect(work.limits).toEqual([4]);
});

describe('a failing wallet', () => {
  test('gets no requests, then one probe, and all requests after its recovery', async () => {
    const work = endless();
    let isHealthy = false;
    let served = 0;
    start({
      lease: work.lease,
      serve: () => {
        served += 1;
        return Promise.resolve(isHealthy);
      },
    });
    await waitUntil('one request was made after the rest', () => work.limits.includes(1));
    const inTrouble = [...work.limits];

    isHealthy = true;
    await waitUntil('it is given all again', () => work.limits.lastIndexOf(4) > inTrouble.length);

    expect(inTrouble.slice(0, 2)).toEqual([4, 1]);
    expect(served).toBeGreaterThan(inTrouble.length);
  });

  test('still gets the work that was leased before', async () => {
    const third = Promise.withResolvers<readonly number[]>();
    const served: number[] = [];
    const { lease } = answering((call) => [[0, 1, 2], third.promise][call - 1] ?? []);
    const serve = (item: number) => {
      served.push(item);
      if (item === 2) setImmediate(() => third.resolve([3]));
      return Promise.resolve(false);
    };
    start({ lease, serve }, { cooldownMs: 60_000 });

    await waitUntil('the fourth is served', () => served.includes(3));
  });
});
