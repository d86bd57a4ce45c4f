import type { Logger } from '../../platform/logger.ts';
import type { AttemptParts } from './attempt-delivery.ts';
import type { LeasedLanes, LeasedLane } from './lease-lanes.sql.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HeldLane } from './held-lane.ts';
import { createHeldLanes } from './held-lanes.ts';
import type { HeldLanes } from './held-lanes.ts';
import { laneOwner, laneText } from './lane-arrays.ts';
import { createLaneEvents } from './lane-events.ts';
import { initialLane } from './lane-machine.ts';
import type { AttemptMetrics } from './lane-writes.ts';
import { renewHeldLanes } from './renew-held-lanes.ts';

export interface LaneRunnerParts extends AttemptParts {
  readonly store: DeliveryStore;
  readonly metrics: AttemptMetrics;
  readonly logger: Logger;
  readonly maxInFlight: number;
  /** The longest time that an attempt may take. */
  readonly deadlineMs: number;
  /** Called when a lane may be due. */
  readonly onLanesDue: () => void;
  /** Interrupts the attempts that are under way. */
  readonly interruptAttempts: AbortSignal;
  readonly stopWriteRetries: AbortSignal;
}

/** A lease that a statement may give to lanes for this process. */
export interface LaneLease {
  readonly leaseId: string;
  readonly leaseMs: number;
  /** How many lanes may be leased. */
  readonly lanes: number;
  /** The owners whose lanes must be left out, as `laneOwner` names them. */
  readonly exceptOwners: readonly string[];
}

/** Leases lanes for this process while their deliveries are written. */
export interface LaneLeases {
  /** Runs the statement, and begins to send on the lanes that it leased. Gives it no lease while this process wants no more lanes. */
  readonly writeWithLease: <Result extends { readonly leased: LeasedLanes }>(
    write: (lease: LaneLease | undefined) => Promise<Result>,
  ) => Promise<Result>;
}

/** Sends on the lanes that this process holds. */
export interface LaneRunner extends LaneLeases {
  readonly room: HeldLanes['room'];
  /** Begins to send on leased lanes. The lease was requested at `requestedAtMs` (performance.now). */
  readonly adopt: (leased: LeasedLanes, requestedAtMs: number) => void;
  /** Announces that deliveries may have been added to the held lanes. */
  readonly refresh: () => void;
  /** Extends the leases and finds paused and lost lanes. */
  readonly renew: () => Promise<void>;
  /** Begins no further attempt. */
  readonly stop: () => void;
  /** After `stop`: resolves when no lane is held and all writes have ended. */
  readonly whenEmpty: () => Promise<void>;
}

export function createLaneRunner(parts: LaneRunnerParts): LaneRunner {
  const { store, deadlineMs } = parts;
  const lanes = createHeldLanes(parts);
  const { slots } = lanes;
  let isStopping = false;
  /** The number of statements that may lease lanes for this process. */
  let leasing = 0;
  let databaseOffsetMs = 0;
  let onEmpty = (): void => {};

  const beginUntil = (requestedAtMs: number): number => requestedAtMs + store.leaseMs - deadlineMs;
  const noteEmpty = (): void => {
    if (lanes.isEmpty() && areWritesDone() && leasing === 0) onEmpty();
  };
  const { post, act, areWritesDone } = createLaneEvents({
    ...parts,
    lanes,
    onHandled: noteEmpty,
    isStopping: () => isStopping,
    databaseTime: () => new Date(performance.now() + databaseOffsetMs),
  });

  const hold = (leased: LeasedLane, requestedAtMs: number): void => {
    const { lane: key, leaseId, isFilled: hasMore, health, isProven, heads } = leased;
    const held: HeldLane = {
      text: laneText(key),
      key,
      owner: laneOwner(key),
      leaseId,
      heldSinceMs: performance.now(),
      state: initialLane({ health, isProven, heads, hasMore, beginUntilMs: beginUntil(requestedAtMs) }),
    };
    const isTooMany = isStopping || slots.isFull(held.owner);
    lanes.add(held);
    if (isTooMany) post(held, { type: 'stop' });
    else act(held);
  };

  const adopt = (leased: LeasedLanes, requestedAtMs: number): void => {
    if (leased.now !== undefined) databaseOffsetMs = leased.now.getTime() - requestedAtMs;
    for (const lane of leased.lanes) hold(lane, requestedAtMs);
  };
  const newLease = (): LaneLease | undefined => {
    // Lanes that wait for their turn come first, so this process takes no others meanwhile.
    if (isStopping || slots.isCrowded()) return undefined;
    return { ...store.newLease(), lanes: slots.lanesLeft(), exceptOwners: slots.fullOwners() };
  };

  return {
    room: lanes.room,
    adopt,
    async writeWithLease(write) {
      leasing += 1;
      const requestedAtMs = performance.now();
      try {
        const result = await write(newLease());
        adopt(result.leased, requestedAtMs);
        return result;
      } finally {
        leasing -= 1;
        noteEmpty();
      }
    },
    refresh() {
      for (const held of lanes.all()) post(held, { type: 'may_have_new' });
    },
    renew: () => renewHeldLanes(lanes.all(), { ...parts, slots, post, beginUntil }),
    stop() {
      isStopping = true;
      for (const held of lanes.all()) post(held, { type: 'stop' });
    },
    whenEmpty: () =>
      new Promise((resolve) => {
        onEmpty = resolve;
        noteEmpty();
      }),
  };
}
