import { once } from 'node:events';
import { pause } from '../../platform/pause.ts';
import { repeatEvery } from '../../platform/repeat-every.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';
import { createLaneRunner } from './lane-runner.ts';
import type { LaneRunner, LaneRunnerParts } from './lane-runner.ts';

export interface DispatchParts extends Omit<LaneRunnerParts, 'cut' | 'abandon' | 'onLanesDue'> {
  /** Rung when deliveries have become due. */
  readonly signal: WakeSignal;
}

/** How long until somebody looks when nobody rings: retries that become due are this late at most. */
const idleMs = 500;
/** Leases are renewed so often in their time that a lane may always be sent on while the database answers. */
const renewalsPerLease = 10;
/** What is on its way when the process is to stop gets its answer if that comes soon. */
const graceMs = 4_000;
const lastWritesMs = 1_000;

/**
 * Sends what is due, until `stop` aborts; then begins nothing more, and resolves within 5 seconds. What was cut short is
 * not recorded, and is sent again by whoever takes its lane next.
 */
export async function dispatchDeliveries(parts: DispatchParts, stop: AbortSignal): Promise<void> {
  const { store, signal, logger, deadlineMs } = parts;
  if (deadlineMs >= store.leaseMs) throw new Error('a lease must be longer than an attempt may take');
  const cut = new AbortController();
  const abandon = new AbortController();
  const runner = createLaneRunner({
    ...parts,
    onLanesDue: signal.ring,
    cut: cut.signal,
    abandon: abandon.signal,
  });
  const renewal = { task: 'renewing leases', intervalMs: store.leaseMs / renewalsPerLease, logger, stop };
  const over = new AbortController();
  const late = stopInTime(runner, { stop, cut, abandon, over: over.signal });
  const done = Promise.all([
    claimWhatIsDue(parts, runner, stop),
    repeatEvery(renewal, () => runner.renew()),
  ]).then(() => runner.whenEmpty());
  // A database that does not even answer is not waited for.
  await Promise.race([done, late]);
  over.abort();
}

async function claimWhatIsDue(
  { store, signal, logger }: DispatchParts,
  runner: LaneRunner,
  stop: AbortSignal,
): Promise<void> {
  // Waiting begins before anything is asked: what becomes due while the database answers rings, and must be heard.
  let rung: Promise<void> | undefined;
  while (!stop.aborted) {
    rung ??= signal.wait(idleMs, stop).then(() => {
      rung = undefined;
    });
    runner.refresh();
    const room = runner.room();
    const askedAtMs = performance.now();
    const isSomeLeft =
      room.lanes > 0 &&
      (await store.claim(room).then(
        (claimed) => {
          runner.adopt(claimed, askedAtMs);
          return claimed.lanes.length >= room.lanes;
        },
        (error: unknown) => {
          logger.warn({ err: error }, 'the database gives no lanes to work on; it is asked again');
          return false;
        },
      ));
    if (!isSomeLeft) await rung;
  }
}

interface Stopping {
  readonly stop: AbortSignal;
  readonly cut: AbortController;
  readonly abandon: AbortController;
  readonly over: AbortSignal;
}

/** From the stop on: begins nothing more, a while later cuts short what still goes on, and then gives up writing. */
async function stopInTime(runner: LaneRunner, { stop, cut, abandon, over }: Stopping): Promise<void> {
  if (!stop.aborted) await once(stop, 'abort');
  runner.stop();
  await pause(graceMs, over);
  if (!over.aborted) cut.abort(new Error('the process stops'));
  await pause(lastWritesMs, over);
  abandon.abort();
}
