import { setImmediate as turn } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createLogger } from '../../../src/platform/logger.ts';
import type { Logger } from '../../../src/platform/logger.ts';
import { createWakeSignal } from '../../../src/platform/wake-signal.ts';
import type { Health } from '../../../src/wallets/connector/outcomes.ts';
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

interface Gate {
  readonly open: () => void;
  readonly passed: Promise<void>;
}

function createGate(): Gate {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { open, passed };
}

interface WorkerOptions {
  readonly maxInFlight?: number;
  readonly idleMs?: number;
  readonly cooldownMs?: number;
  readonly ask?: () => Promise<Health>;
  readonly log?: Logger;
  readonly nothingDueForMs?: number;
  readonly isSignalled?: boolean;
}

const untold: Health = { kind: 'untold', detail: 'no heartbeat' };

/** Starts a worker on a list of work, and stops it after the test. */
function start(
  {
    lease,
    serve,
  }: { lease: (limit: number) => Promise<readonly number[]> } & Pick<LeasedWork<number>, 'serve'>,
  {
    maxInFlight = 4,
    idleMs = 5,
    cooldownMs = 50,
    ask = () => Promise.resolve(untold),
    log = logger,
    nothingDueForMs,
    isSignalled = true,
  }: WorkerOptions = {},
) {
  const signal = createWakeSignal();
  const breaker = createWalletBreaker({ wallet: 'test', logger, cooldownMs, threshold: 3, ask });
  const stopping = new AbortController();
  const options = { maxInFlight, idleMs, isSignalled: () => isSignalled, breaker, signal, logger: log };
  const work = {
    name: 'test',
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
  const gates: Gate[] = [];
  const { stop } = start({
    lease: work.lease,
    async serve(item) {
      await (gates[item] = createGate()).passed;
      return true;
    },
  });
  await waitUntil('all slots are taken', () => gates.length === 4);

  gates[0]?.open();
  await waitUntil('the free place is taken', () => gates.length === 5);

  expect(work.limits).toEqual([4, 1]);
  const stopped = stop();
  gates.forEach(({ open }) => open());
  await stopped;
});

test('a wake-up during an answer of core leases newly due work at once', async () => {
  const answers = createGate();
  let asked = 0;
  const { signal } = start(
    {
      lease: async () => {
        asked += 1;
        if (asked === 1) await answers.passed;
        return [];
      },
      serve: () => Promise.resolve(true),
    },
    { idleMs: 60_000 },
  );
  await waitUntil('core is asked', () => asked === 1);

  signal.ring();
  answers.open();

  await waitUntil('core is asked again', () => asked === 2, 30_000);
});

describe('when core says how long nothing is due', () => {
  const minuteMs = 60_000;
  const asking = () => {
    const asked = { count: 0 };
    const work = {
      lease: async () => {
        await turn();
        asked.count += 1;
        return [];
      },
      serve: () => Promise.resolve(true),
    };
    return { asked, work };
  };

  test('the worker asks again at that time', async () => {
    const { asked, work } = asking();
    start(work, { idleMs: minuteMs, nothingDueForMs: 1 });

    await waitUntil('core is asked again', () => asked.count > 2, 30_000);
  });

  test('announced work is leased before that time', async () => {
    const { asked, work } = asking();
    const { signal } = start(work, { idleMs: 1, nothingDueForMs: minuteMs });
    await waitUntil('core is asked', () => asked.count === 1);

    signal.ring();

    await waitUntil('core is asked again', () => asked.count === 2, 30_000);
  });

  test('the worker asks sooner while the broker is unavailable', async () => {
    const { asked, work } = asking();
    start(work, { idleMs: 1, nothingDueForMs: minuteMs, isSignalled: false });

    await waitUntil('core is asked again', () => asked.count > 2, 30_000);
  });
});

test('a failed call to core is repeated, for a lease and for a record', async () => {
  let asked = 0;
  let served = 0;
  start({
    async lease() {
      await turn();
      asked += 1;
      if (asked === 1) throw new Error('away');
      return [asked];
    },
    serve: () => {
      served += 1;
      return Promise.reject(new Error('not recorded'));
    },
  });

  await waitUntil('work goes on', () => served > 10);
});

test('the log line about failed work names the item', async () => {
  const { logger: log, log: lines } = keptLog({ level: 'info' });
  let leases = 0;
  start(
    {
      async lease() {
        await turn();
        return (leases += 1) === 1 ? [7] : [];
      },
      serve: () => Promise.reject(new Error('not recorded')),
    },
    { log },
  );

  await waitUntil('the failure is logged', () => lines.length > 0);

  expect(lines).toMatchObject([
    { msg: 'work failed; it is repeated when its lease expires', work: 'test', item: '7' },
  ]);
});

test('an unavailable core is logged once, however often it is called, and so is its recovery', async () => {
  const { logger: log, log: lines } = keptLog({ level: 'info' });
  let asked = 0;
  start(
    {
      async lease() {
        await turn();
        asked += 1;
        if (asked < 5) throw new ConnectError('away', Code.Unavailable);
        return [];
      },
      serve: () => Promise.resolve(true),
    },
    { idleMs: 1, log },
  );

  await waitUntil('it has asked in vain and then not', () => asked > 6);

  expect(lines).toMatchObject([
    { level: 'warn', msg: 'work could not be leased from core; trying again' },
    { level: 'info', msg: 'core answers again; work continues' },
  ]);
});

test('after a stop, the worker leases nothing new and completes what it has begun', async () => {
  const work = endless();
  const gate = createGate();
  const done: number[] = [];
  const { stop } = start({
    lease: work.lease,
    async serve(item) {
      await gate.passed;
      done.push(item);
      return true;
    },
  });
  await waitUntil('it is at work', () => work.limits.length === 1);

  const stopped = stop();
  gate.open();
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
    const gate = createGate();
    const served: number[] = [];
    let asked = 0;
    start(
      {
        lease: async () => {
          await turn();
          asked += 1;
          if (asked === 1) return [0, 1, 2];
          if (asked > 2) return [];
          await gate.passed;
          return [3];
        },
        serve(item) {
          served.push(item);
          if (item === 2) setImmediate(gate.open);
          return Promise.resolve(false);
        },
      },
      { cooldownMs: 60_000 },
    );

    await waitUntil('the fourth is served', () => served.includes(3));
  });
});
