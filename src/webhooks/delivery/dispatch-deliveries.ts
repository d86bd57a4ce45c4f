import { once } from 'node:events';
import { limitFailures } from '../../platform/line-limit.ts';
import { pause } from '../../platform/pause.ts';
import { repeatEvery } from '../../platform/repeat-every.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';
import { createLaneRunner } from './lane-runner.ts';
import type { LaneLeases, LaneRunner, LaneRunnerParts } from './lane-runner.ts';

export interface DispatchParts extends Omit<
  LaneRunnerParts,
  'interruptAttempts' | 'stopWriteRetries' | 'onLanesDue'
> {
  /** Signalled when deliveries become due. */
  readonly signal: WakeSignal;
}

/** The poll interval without a signal. Retries are late by this at most. */
const idleMs = 500;
/** The number of renewals per lease time. It is high enough that a held lane may always send while the database answers. */
const renewalsPerLease = 10;
/** How long the process waits at shutdown for responses to attempts under way. */
const graceMs = 4_000;
const lastWritesMs = 1_000;

export interface Dispatcher {
  /** Lets the intake of this process lease lanes while it writes their first deliveries. */
  readonly leases: LaneLeases;
  /** Resolves within 5 seconds after the stop. */
  readonly done: Promise<void>;
}

/**
 * Sends due deliveries until `stop` aborts. Then it begins no attempt. An interrupted attempt is not recorded, so the next
 * process with the lane sends the delivery again.
 */
export function startDispatching(parts: DispatchParts, stop: AbortSignal): Dispatcher {
  const { store, signal, logger, deadlineMs } = parts;
  if (deadlineMs >= store.leaseMs) throw new Error('a lease must be longer than an attempt may take');
  const interruptAttempts = new AbortController();
  const stopWriteRetries = new AbortController();
  const runner = createLaneRunner({
    ...parts,
    onLanesDue: signal.ring,
    interruptAttempts: interruptAttempts.signal,
    stopWriteRetries: stopWriteRetries.signal,
  });
  const renewal = { task: 'renewing leases', intervalMs: store.leaseMs / renewalsPerLease, logger, stop };
  const ended = new AbortController();
  const late = stopInTime(runner, { stop, interruptAttempts, stopWriteRetries, ended: ended.signal });
  const done = Promise.all([
    leaseDueLanes(parts, runner, stop),
    repeatEvery(renewal, () => runner.renew()),
  ]).then(() => runner.whenEmpty());
  // An unresponsive database does not delay the shutdown.
  return { leases: runner, done: Promise.race([done, late]).finally(() => ended.abort()) };
}

async function leaseDueLanes(
  { store, signal, logger }: DispatchParts,
  runner: LaneRunner,
  stop: AbortSignal,
): Promise<void> {
  const logFailed = limitFailures((error) =>
    logger.warn({ err: error }, 'lanes could not be leased; trying again'),
  );
  // The wait begins before the query. A delivery that becomes due during the query sends a signal, which must not be missed.
  let rung: Promise<void> | undefined;
  while (!stop.aborted) {
    rung ??= signal.wait(idleMs, stop).then(() => {
      rung = undefined;
    });
    runner.refresh();
    const room = runner.room();
    const requestedAtMs = performance.now();
    const isSomeLeft =
      room.lanes > 0 &&
      (await store.lease(room).then(
        (leased) => {
          runner.adopt(leased, requestedAtMs);
          return leased.lanes.length >= room.lanes;
        },
        (error: unknown) => {
          logFailed(error);
          return false;
        },
      ));
    if (!isSomeLeft) await rung;
  }
}

interface Stopping {
  readonly stop: AbortSignal;
  readonly interruptAttempts: AbortController;
  readonly stopWriteRetries: AbortController;
  readonly ended: AbortSignal;
}

/** At shutdown, no attempt begins. After a grace period, it interrupts the attempts under way, and finally the writes. */
async function stopInTime(
  runner: LaneRunner,
  { stop, interruptAttempts, stopWriteRetries, ended }: Stopping,
): Promise<void> {
  if (!stop.aborted) await once(stop, 'abort');
  runner.stop();
  await pause(graceMs, ended);
  if (!ended.aborted) interruptAttempts.abort(new Error('the process is stopping'));
  await pause(lastWritesMs, ended);
  stopWriteRetries.abort();
}
