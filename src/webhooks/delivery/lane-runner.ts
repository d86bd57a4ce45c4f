import type { Logger } from '../../platform/logger.ts';
import type { OutgoingDelivery } from '../domain/delivery.ts';
import { attemptDelivery } from './attempt-delivery.ts';
import type { AttemptParts, Attempted } from './attempt-delivery.ts';
import type { Claimed, ClaimedLane } from './claim-lanes.sql.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HeldLane } from './held-lane.ts';
import { laneFields, laneOwner, laneText } from './lane-arrays.ts';
import { claimedLane, isCircuitOpen, laneAfter, mayBegin, nextAction, wantsSlot } from './lane-machine.ts';
import type { Lane, LaneAction, LaneEvent, LaneTerms } from './lane-machine.ts';
import { createLaneReads } from './lane-reads.ts';
import { createLaneWrites } from './lane-writes.ts';
import type { AttemptMetrics } from './lane-writes.ts';
import { createSlots } from './slots.ts';

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
  /** Stops the retries of writes. */
  readonly stopWriteRetries: AbortSignal;
}

/** A lease that a statement may give to lanes for this process. */
export interface LaneLease {
  readonly leaseId: string;
  readonly leaseMs: number;
  /** How many lanes may be leased. */
  readonly lanes: number;
  /** Merchants in one environment whose lanes must be left out, as in `laneOwner`. */
  readonly exceptOwners: readonly string[];
}

/** Leases lanes for this process while their deliveries are written. */
export interface LaneClaims {
  /** Runs the statement, and begins to send on the lanes that it leased. Gives it no lease while this process wants no more lanes. */
  readonly writeWithLease: <Result extends { readonly claimed: Claimed }>(
    write: (lease: LaneLease | undefined) => Promise<Result>,
  ) => Promise<Result>;
}

/** Sends on the lanes that this process holds. */
export interface LaneRunner extends LaneClaims {
  /** How many more lanes can be claimed, and the owners whose lanes must be left out. */
  readonly room: () => { lanes: number; unhealthyLanes: number; exceptOwners: string[] };
  /** Begins to send on claimed lanes. The claim was requested at `askedAtMs` (performance.now). */
  readonly adopt: (claimed: Claimed, askedAtMs: number) => void;
  /** Announces that deliveries may have been added to the held lanes. */
  readonly refresh: () => void;
  /** Extends the leases and finds paused and lost lanes. */
  readonly renew: () => Promise<void>;
  /** Begins no further attempt. */
  readonly stop: () => void;
  /** After `stop`: resolves when no lane is held and all writes have ended. */
  readonly whenEmpty: () => Promise<void>;
}

/** How long a lane is served while others wait for their turn. */
const sliceMs = 1_000;

/**
 * One event loop. The machine applies each event to its lane and returns the next action. The action begins, and its
 * end is another event.
 */
export function createLaneRunner(parts: LaneRunnerParts): LaneRunner {
  const { store, logger, random, maxInFlight, deadlineMs, onLanesDue, interruptAttempts } = parts;
  const slots = createSlots(maxInFlight);
  const lanes = new Map<string, HeldLane>();
  /** Lanes that want to send and wait for a slot, in order of waiting time. */
  const waiting = new Set<HeldLane>();
  const events: { readonly held: HeldLane; readonly event: LaneEvent }[] = [];
  let isHandling = false;
  let isStopping = false;
  /** The number of statements that may lease lanes for this process. */
  let leasing = 0;
  let databaseOffsetMs = 0;
  let onEmpty = (): void => {};

  const databaseTime = (): Date => new Date(performance.now() + databaseOffsetMs);
  const beginUntil = (askedAtMs: number): number => askedAtMs + store.leaseMs - deadlineMs;

  const post = (held: HeldLane, event: LaneEvent): void => {
    events.push({ held, event });
    if (isHandling) return;
    isHandling = true;
    for (let next = events.shift(); next !== undefined; next = events.shift()) {
      apply(next.held, next.event);
      act(next.held);
    }
    isHandling = false;
    noteEmpty();
  };
  const reads = createLaneReads({ store, logger, post });
  const writes = createLaneWrites({ ...parts, post, isStopping: () => isStopping });

  const apply = (held: HeldLane, event: LaneEvent): void => {
    const before = held.state;
    held.state = laneAfter(before, event);
    if (before.stage !== 'RELEASED' && held.state.stage === 'RELEASED') forget(held);
    logCircuit(logger, held, before);
  };

  const termsOf = ({ owner }: HeldLane): LaneTerms => ({
    nowMs: performance.now(),
    share: slots.share(owner),
    hasSlot: slots.isFree(owner),
  });

  const act = (held: HeldLane): void => {
    for (
      let action = nextAction(held.state, termsOf(held));
      action !== undefined;
      action = nextAction(held.state, termsOf(held))
    )
      begin(held, action);
    if (wantsSlot(held.state, termsOf(held))) waiting.add(held);
  };

  const begin = (held: HeldLane, action: LaneAction): void => {
    switch (action.type) {
      case 'send':
        apply(held, { type: 'send_began', deliveryId: action.delivery.id });
        slots.take(held.owner);
        void send(held, action.delivery);
        break;
      case 'read':
        apply(held, { type: 'read_began' });
        reads.begin(held);
        break;
      case 'record': {
        const { attempt, isRelease } = action;
        apply(held, { type: 'record_began', deliveryId: attempt.delivery.id, isRelease });
        void writes.record(held, attempt, isRelease);
        break;
      }
      case 'release':
        apply(held, { type: 'release_began' });
        void writes.release(held, action.abandonExpired);
        break;
    }
  };

  const send = async (held: HeldLane, delivery: OutgoingDelivery): Promise<void> => {
    const attempted = await attemptDelivery(parts, delivery, {
      mayBegin: () => !isStopping && mayBegin(held.state, performance.now()),
      databaseTime,
      interrupt: interruptAttempts,
    });
    slots.giveBack(held.owner);
    logUnsent(logger, held, delivery, attempted);
    post(held, eventOf(delivery.id, attempted, random));
    serveWaiting();
  };

  const serveWaiting = (): void => {
    for (const held of [...waiting]) {
      waiting.delete(held);
      act(held);
    }
  };

  const hold = (claimed: ClaimedLane, askedAtMs: number): void => {
    const { lane: key, leaseId, isFilled: hasMore, health, isProven, heads } = claimed;
    const held: HeldLane = {
      text: laneText(key),
      key,
      owner: laneOwner(key),
      leaseId,
      heldSinceMs: performance.now(),
      state: claimedLane({ health, isProven, heads, hasMore, beginUntilMs: beginUntil(askedAtMs) }),
    };
    const isTooMany = isStopping || slots.isFull(held.owner);
    lanes.set(held.text, held);
    slots.addLane(held.owner);
    if (isTooMany) post(held, { type: 'stop' });
    else act(held);
  };

  const forget = (held: HeldLane): void => {
    waiting.delete(held);
    reads.forget(held);
    const wasFull = slots.lanesLeft() === 0 || slots.isFull(held.owner);
    // This process may have claimed the lane again before the result of its earlier release arrived.
    if (lanes.get(held.text) === held) lanes.delete(held.text);
    slots.removeLane(held.owner);
    if (wasFull) onLanesDue();
  };

  const noteEmpty = (): void => {
    if (lanes.size === 0 && writes.areDone() && leasing === 0) onEmpty();
  };

  const countUnhealthy = (): number =>
    [...lanes.values()].filter(({ state }) => !state.isProven || state.health.consecutiveFailures > 0).length;

  const adopt = (claimed: Claimed, askedAtMs: number): void => {
    if (claimed.now !== undefined) databaseOffsetMs = claimed.now.getTime() - askedAtMs;
    for (const lane of claimed.lanes) hold(lane, askedAtMs);
  };
  const newLease = (): LaneLease | undefined => {
    // Lanes that wait for their turn come first, so this process takes no others meanwhile.
    if (isStopping || slots.isCrowded()) return undefined;
    return { ...store.newLease(), lanes: slots.lanesLeft(), exceptOwners: slots.fullOwners() };
  };

  return {
    room() {
      const left = slots.lanesLeft();
      // A silent endpoint occupies its slot for the whole deadline. So half of the slots are reserved for proven lanes. A single slot is shared.
      const unhealthyLeft = Math.max(0, Math.max(1, Math.floor(maxInFlight / 2)) - countUnhealthy());
      return {
        lanes: left,
        unhealthyLanes: Math.min(Math.ceil(left / 2), unhealthyLeft),
        exceptOwners: slots.fullOwners(),
      };
    },
    adopt,
    async writeWithLease(write) {
      leasing += 1;
      const askedAtMs = performance.now();
      try {
        const result = await write(newLease());
        adopt(result.claimed, askedAtMs);
        return result;
      } finally {
        leasing -= 1;
        noteEmpty();
      }
    },
    refresh() {
      for (const held of [...lanes.values()]) post(held, { type: 'may_have_new' });
    },
    async renew() {
      const held = [...lanes.values()].filter(needsLease);
      if (held.length === 0) return;
      const askedAtMs = performance.now();
      const renewed = await store.renew(held.map(({ key: lane, leaseId }) => ({ lane, leaseId })));
      for (const each of held) {
        const own = renewed.get(each.text);
        if (own === undefined) {
          if (needsLease(each))
            logger.warn(
              laneFields(each.key),
              'this process did not renew its lease in time, so another one sends the webhooks of this endpoint',
            );
          post(each, { type: 'lost' });
          continue;
        }
        const isSliceOver = performance.now() - each.heldSinceMs > sliceMs && slots.isCrowded();
        const mustDrain = own.isPaused || isSliceOver;
        post(each, { type: 'renewed', beginUntilMs: beginUntil(askedAtMs), mustDrain });
      }
    },
    stop() {
      isStopping = true;
      for (const held of [...lanes.values()]) post(held, { type: 'stop' });
    },
    whenEmpty: () =>
      new Promise((resolve) => {
        onEmpty = resolve;
        noteEmpty();
      }),
  };
}

const needsLease = ({ state: { stage } }: HeldLane): boolean => stage === 'SENDING' || stage === 'DRAINING';

function eventOf(deliveryId: string, attempted: Attempted, random: () => number): LaneEvent {
  switch (attempted.type) {
    case 'ended':
      return { type: 'attempt_ended', attempt: attempted.attempt, random };
    case 'not_begun':
      return { type: 'send_not_begun', deliveryId };
    case 'interrupted':
      return { type: 'send_interrupted', deliveryId };
    case 'awaits_secret':
      return { type: 'secret_missing', deliveryId };
    case 'failed':
      return { type: 'send_failed', deliveryId };
  }
}

function logUnsent(logger: Logger, { key }: HeldLane, { id }: OutgoingDelivery, attempted: Attempted): void {
  if (attempted.type === 'ended' || attempted.type === 'not_begun') return;
  const line = { ...laneFields(key), delivery_id: id };
  switch (attempted.type) {
    case 'interrupted':
      logger.info(line, 'webhook attempt interrupted by shutdown; the webhook is sent again');
      break;
    case 'awaits_secret':
      logger.info(
        line,
        'webhook waits: no signing secret was shown yet, so its receiver cannot verify it; the merchant must create one',
      );
      break;
    case 'failed':
      logger.error(
        { err: attempted.error, ...line },
        'webhook attempt failed before it was sent; it is retried',
      );
      break;
  }
}

function logCircuit(logger: Logger, { key, state }: HeldLane, before: Lane): void {
  const failures = state.health.consecutiveFailures;
  if (!isCircuitOpen(before) && isCircuitOpen(state))
    logger.warn(
      { ...laneFields(key), failures },
      'circuit open: the endpoint keeps failing, so one delivery at a time probes it',
    );
  if (isCircuitOpen(before) && failures === 0)
    logger.info(laneFields(key), 'circuit closed: the endpoint has recovered');
}
