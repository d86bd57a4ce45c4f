import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createWakeSignal } from '../../../src/platform/wake-signal.ts';
import type { LeasedLanes, LeasedLane } from '../../../src/webhooks/delivery/lease-lanes.sql.ts';
import type { DeliveryStore } from '../../../src/webhooks/delivery/delivery-store.ts';
import { startDispatching } from '../../../src/webhooks/delivery/dispatch-deliveries.ts';
import type { DispatchParts } from '../../../src/webhooks/delivery/dispatch-deliveries.ts';
import { createLaneRunner } from '../../../src/webhooks/delivery/lane-runner.ts';
import type { LaneRunner } from '../../../src/webhooks/delivery/lane-runner.ts';
import type { LaneWriteResult } from '../../../src/webhooks/delivery/write-lanes.ts';
import type { HeadRequest } from '../../../src/webhooks/delivery/take-heads.sql.ts';
import type { AttemptReport, OutgoingDelivery } from '../../../src/webhooks/domain/delivery.ts';
import { buildDelivery, buildReport } from '../../integration/webhooks/outgoing.ts';
import type { WebhookSender } from '../../../src/webhooks/sending/send-webhook.ts';
import { keptLog } from '../../support/kept-log.ts';

/** A request of the work, which the test answers. */
interface Asked<Question, Answer> {
  readonly question: Question;
  readonly answer: (answer: Answer) => void;
  readonly fail: (error: Error) => void;
}

function ask<Question, Answer>(asked: Asked<Question, Answer>[], question: Question): Promise<Answer> {
  return new Promise((answer, fail) => asked.push({ question, answer, fail }));
}

type Heads = ReadonlyMap<string, readonly OutgoingDelivery[]>;

interface Desk {
  readonly runner: LaneRunner;
  readonly sent: Asked<string, AttemptReport>[];
  readonly taken: Asked<readonly HeadRequest[], Heads>[];
  /** The lanes that it has released. */
  readonly released: string[];
  /** The attempts that were counted. */
  readonly counted: Pick<AttemptReport, 'result'>[];
  /** The parts of the runner that a dispatcher also needs. */
  readonly parts: Omit<DispatchParts, 'signal'>;
  /** The messages of the log. */
  readonly logged: () => unknown[];
}

/** A process's lanes. The test plays the database, which gives each write this answer, and the merchants, and decides the sequence. */
function openDesk(
  answer: LaneWriteResult = { isHeld: true, isPaused: false, isDue: false, areHeadsHidden: false },
): Desk {
  const sent: Asked<string, AttemptReport>[] = [];
  const taken: Asked<readonly HeadRequest[], Heads>[] = [];
  const released: string[] = [];
  const counted: Pick<AttemptReport, 'result'>[] = [];
  const store: DeliveryStore = {
    leaseMs: 20_000,
    newLease: () => ({ leaseId: 'a lease', leaseMs: 20_000 }),
    lease: async () => ({ lanes: [], now: undefined }),
    take: (requests) => ask(taken, requests),
    renew: async () => new Map(),
    writeLane: async ({ lane, release }) => {
      if (release !== undefined) released.push(lane.merchantId);
      return answer;
    },
    abandonExpired: async () => 0,
    postponeWaiting: async () => 0,
  };
  const sender: Pick<WebhookSender, 'send'> = { send: ({ id }) => ask(sent, id) };
  const { logger, log } = keptLog({ level: 'warn' });
  const parts = {
    store,
    sender,
    secrets: { live: async () => ({ current: 'whsec_c2VjcmV0' }) },
    metrics: { attempted: (_: unknown, report: Pick<AttemptReport, 'result'>) => void counted.push(report) },
    logger,
    now: () => new Date(),
    machineNow: () => new Date(),
    random: () => 0.5,
    maxInFlight: 16,
    deadlineMs: 15_000,
  };
  const runner = createLaneRunner({
    ...parts,
    onLanesDue: () => {},
    interruptAttempts: new AbortController().signal,
    stopWriteRetries: new AbortController().signal,
  });
  return { runner, sent, taken, released, counted, parts, logged: () => log.map(({ msg }) => msg) };
}

/** A lane with one delivery. `isFilled`: more may follow it. */
function leased(merchantId: string, isFilled: boolean): LeasedLane {
  const head = buildDelivery('https://shop.example/hook', { merchantId, id: `whd_of_${merchantId}` });
  return {
    lane: { merchantId, environment: head.environment, endpoint: head.endpoint },
    leaseId: `lease of ${merchantId}`,
    health: { consecutiveFailures: 0, probeAt: undefined },
    isProven: true,
    heads: [head],
    isFilled,
  };
}

/** All code that waits for settled promises has continued. */
const settled = async (): Promise<void> => {
  for (let each = 0; each < 5; each += 1) await turn();
};

test('a lane that needs more work during a failed read reads again, and the log has a lasting failure once', async () => {
  const { runner, sent, taken, logged } = openDesk();
  runner.adopt({ lanes: [leased('first', false)], now: new Date() }, performance.now());
  await settled();
  runner.refresh();
  runner.adopt({ lanes: [leased('second', true)], now: new Date() }, performance.now());
  await settled();
  sent.find(({ question }) => question === 'whd_of_first')?.answer(buildReport());
  await settled();

  taken[0]?.fail(new Error('Connection terminated unexpectedly'));
  await settled();
  runner.refresh();
  await settled();

  const askedFor = taken.map(({ question }) => question.map(({ lane }) => lane.merchantId));
  expect(askedFor).toEqual([['first'], ['second']]);
  taken[1]?.fail(new Error('Connection terminated unexpectedly'));
  await settled();
  expect(logged()).toEqual(['due webhooks could not be read; trying again at the next refresh']);
});

test.each([
  ['committed before its answer was lost', true, 1, []],
  ['refused because another process holds the lane', false, 0, ['webhook attempt']],
])('an attempt whose write was %s is counted accordingly', async (_, isWritten, count, warnings) => {
  const { runner, sent, counted, logged } = openDesk({ isHeld: false, isWritten });
  runner.adopt({ lanes: [leased('first', false)], now: new Date() }, performance.now());
  await settled();

  sent[0]?.answer(buildReport());
  await settled();

  expect(counted).toHaveLength(count);
  expect(logged()).toEqual(warnings);
});

test('leases that fail for the same reason have one line in the log', async () => {
  const { parts, logged } = openDesk();
  const signal = createWakeSignal();
  const stopping = new AbortController();
  let requests = 0;
  const lease = (): Promise<LeasedLanes> => {
    if ((requests += 1) === 5) stopping.abort();
    signal.ring();
    return Promise.reject(new Error('Connection terminated unexpectedly'));
  };

  await startDispatching({ ...parts, store: { ...parts.store, lease }, signal }, stopping.signal).done;

  expect(requests).toBe(5);
  expect(logged()).toEqual(['lanes could not be leased; trying again']);
});

test('a process that stops waits for the lanes that a statement leases for it, and releases them', async () => {
  const { runner, sent, released } = openDesk();
  const written = Promise.withResolvers<{ readonly leased: LeasedLanes }>();
  const leasing = runner.writeWithLease(() => written.promise);
  let isEmpty = false;
  runner.stop();
  const emptied = runner.whenEmpty().then(() => (isEmpty = true));
  await settled();
  expect(isEmpty).toBe(false);

  written.resolve({ leased: { lanes: [leased('late', false)], now: new Date() } });
  await leasing;
  await emptied;

  expect(released).toEqual(['late']);
  expect(sent).toEqual([]);
});

test('a process that stops leases no lanes', async () => {
  const { runner } = openDesk();
  const leases: unknown[] = [];
  const write = async (lease: unknown) => {
    leases.push(lease);
    return { leased: { lanes: [], now: undefined } };
  };
  await runner.writeWithLease(write);
  runner.stop();

  await runner.writeWithLease(write);

  expect(leases).toEqual([{ leaseId: 'a lease', leaseMs: 20_000, lanes: 16, exceptOwners: [] }, undefined]);
});
