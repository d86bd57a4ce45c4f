import type { Logger } from '../../platform/logger.ts';
import type { Span } from '../../platform/tracing/span.ts';
import type { AttemptReport, LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import { attemptDelivery, logAttempt } from './attempt-delivery.ts';
import type { AttemptParts, Attempted } from './attempt-delivery.ts';
import type { Claimed } from './claim-lanes.sql.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { laneFields, laneOwner, laneText } from './lane-arrays.ts';
import {
  claimedLane,
  isCircuitOpen,
  laneAfter,
  mayBegin,
  nextAction,
  wantedHeads,
  wantsSlot,
} from './lane-machine.ts';
import type { Lane, LaneAction, LaneEvent, LaneTerms, LeaseState } from './lane-machine.ts';
import { createSlots } from './slots.ts';
import type { LaneReleaseTerms, Settled, Settlement } from './settle-lanes.ts';
import { settleWithRetries } from './settle-with-retries.ts';
import type { EndedAttempt } from './write-attempts.sql.ts';

/** Counts every attempt whose result was recorded. */
export interface AttemptMetrics {
  readonly attempted: (
    delivery: Pick<OutgoingDelivery, 'environment' | 'body' | 'attemptNumber'>,
    report: Pick<AttemptReport, 'result' | 'durationMs' | 'startedAt'>,
    span: Span | undefined,
  ) => void;
}

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
  readonly cut: AbortSignal;
  /** Stops the retries of writes. */
  readonly abandon: AbortSignal;
}

/** Sends on the lanes that this process holds. */
export interface LaneRunner {
  /** How many more lanes can be claimed, and the owners whose lanes must be left out. */
  readonly room: () => { lanes: number; lanesInTrouble: number; exceptOwners: string[] };
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

/** A lane and its lease. */
interface HeldLane {
  readonly text: string;
  readonly key: LaneKey;
  readonly leaseId: string;
  readonly heldSinceMs: number;
  state: Lane;
}

/** How long a lane is served while others wait for their turn. */
const sliceMs = 1_000;
const expiredPerStatement = 1_000;
const expiredStatements = 20;

/**
 * One event loop. The machine applies each event to its lane and returns the next action. The action begins, and its
 * end is another event.
 */
export function createLaneRunner(parts: LaneRunnerParts): LaneRunner {
  const { store, metrics, logger, random, maxInFlight, deadlineMs, onLanesDue, cut, abandon } = parts;
  const slots = createSlots(maxInFlight);
  const lanes = new Map<string, HeldLane>();
  /** Lanes that want to send and wait for a slot, in order of waiting time. */
  const waiting = new Set<HeldLane>();
  const toRead = new Set<HeldLane>();
  const events: { readonly held: HeldLane; readonly event: LaneEvent }[] = [];
  let isHandling = false;
  let isReading = false;
  let isStopping = false;
  /** The number of settlements without a result from the database. */
  let unsettled = 0;
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

  const apply = (held: HeldLane, event: LaneEvent): void => {
    const before = held.state;
    held.state = laneAfter(before, event);
    if (before.stage !== 'RELEASED' && held.state.stage === 'RELEASED') forget(held);
    if (!isCircuitOpen(before) && isCircuitOpen(held.state)) {
      const failures = held.state.health.consecutiveFailures;
      logger.warn(
        { ...laneFields(held.key), failures },
        'circuit open: the endpoint keeps failing, so one delivery at a time probes it',
      );
    }
    if (isCircuitOpen(before) && held.state.health.consecutiveFailures === 0)
      logger.info(laneFields(held.key), 'circuit closed: the endpoint has recovered');
  };

  const termsOf = ({ key }: HeldLane): LaneTerms => ({
    nowMs: performance.now(),
    share: slots.share(laneOwner(key)),
    hasSlot: slots.isFree(laneOwner(key)),
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

  const serveWaiting = (): void => {
    for (const held of [...waiting]) {
      waiting.delete(held);
      act(held);
    }
  };

  const begin = (held: HeldLane, action: LaneAction): void => {
    switch (action.type) {
      case 'send':
        apply(held, { type: 'send_began', deliveryId: action.delivery.id });
        slots.take(laneOwner(held.key));
        void send(held, action.delivery);
        break;
      case 'read':
        apply(held, { type: 'read_began' });
        toRead.add(held);
        void readAll();
        break;
      case 'record': {
        const { attempt, isRelease } = action;
        apply(held, { type: 'record_began', deliveryId: attempt.delivery.id, isRelease });
        void record(held, attempt, isRelease);
        break;
      }
      case 'release':
        apply(held, { type: 'release_began' });
        void release(held, action.abandonExpired);
        break;
    }
  };

  const send = async (held: HeldLane, delivery: OutgoingDelivery): Promise<void> => {
    const attempted = await attemptDelivery(parts, delivery, {
      mayBegin: () => !isStopping && mayBegin(held.state, performance.now()),
      databaseTime,
      cut,
    });
    slots.giveBack(laneOwner(held.key));
    logUnsent(held, delivery, attempted);
    post(held, eventOf(delivery.id, attempted));
    serveWaiting();
  };
  const eventOf = (deliveryId: string, attempted: Attempted): LaneEvent => {
    switch (attempted.type) {
      case 'ended':
        return { type: 'attempt_ended', attempt: attempted.attempt, random };
      case 'not_begun':
        return { type: 'send_not_begun', deliveryId };
      case 'cut':
        return { type: 'send_cut', deliveryId };
      case 'awaits_secret':
        return { type: 'secret_missing', deliveryId };
      case 'failed':
        return { type: 'send_failed', deliveryId };
    }
  };
  const logUnsent = ({ key }: HeldLane, { id }: OutgoingDelivery, attempted: Attempted): void => {
    const line = { ...laneFields(key), delivery_id: id };
    if (attempted.type === 'cut')
      logger.info(line, 'webhook attempt interrupted by shutdown; the webhook is sent again');
    if (attempted.type === 'awaits_secret')
      logger.info(
        line,
        'webhook waits: no signing secret was shown yet, so its receiver cannot verify it; the merchant must create one',
      );
    if (attempted.type === 'failed')
      logger.error(
        { err: attempted.error, ...line },
        'webhook attempt failed before it was sent; it is retried',
      );
  };

  const settle = async (
    { key: lane, leaseId }: HeldLane,
    what: Pick<Settlement, 'attempt' | 'release'>,
  ): Promise<Settled | undefined> => {
    unsettled += 1;
    const settled = await settleWithRetries(store, { lane, leaseId, ...what }, { logger, abandon });
    unsettled -= 1;
    return settled;
  };
  const record = async (held: HeldLane, attempt: EndedAttempt, isRelease: boolean): Promise<void> => {
    const release = isRelease ? { release: releaseOf(held.state) } : {};
    const settled = await settle(held, { attempt, ...release });
    const isRecorded = settled?.isHeld === true;
    logAttempt(logger, attempt, isRecorded);
    if (isRecorded) metrics.attempted(attempt.delivery, attempt.report, attempt.span);
    const deliveryId = attempt.delivery.id;
    post(held, { type: 'recorded', deliveryId, lease: isRelease ? 'over' : leaseAfter(settled) });
    if (isRecorded && settled.isDue) onLanesDue();
  };
  const release = async (held: HeldLane, abandonExpired: boolean): Promise<void> => {
    if (abandonExpired) await abandonOutlivedOn(held);
    const settled = await settle(held, { release: releaseOf(held.state) });
    post(held, { type: 'released' });
    if (settled?.isHeld === true && settled.isDue) onLanesDue();
  };
  const abandonOutlivedOn = async ({ key: lane, leaseId }: HeldLane): Promise<void> => {
    try {
      for (let round = 0; round < expiredStatements && !isStopping; round += 1) {
        const count = await store.abandonExpired({ lane, leaseId }, expiredPerStatement);
        if (count > 0)
          logger.warn({ ...laneFields(lane), count }, 'webhooks abandoned: their endpoint did not answer');
        if (count < expiredPerStatement) return;
      }
    } catch (error) {
      logger.warn(
        { err: error, ...laneFields(lane) },
        'expired webhooks could not be abandoned; trying again at the next probe of the endpoint',
      );
    }
  };

  /** Reads more deliveries for all lanes that want some, one statement at a time. */
  const readAll = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    while (toRead.size > 0) {
      const batch = [...toRead];
      toRead.clear();
      await readFor(batch);
    }
    isReading = false;
  };
  const readFor = async (batch: readonly HeldLane[]): Promise<void> => {
    const requests = batch.map(({ key: lane, leaseId, state }) => ({ lane, leaseId, ...wantedHeads(state) }));
    const taken = await store.take(requests).catch((error: unknown) => {
      logger.warn({ err: error }, 'due webhooks could not be read; trying again at the next refresh');
      return undefined;
    });
    if (taken === undefined) {
      // No action follows, or the same read would begin at once. Lanes that joined meanwhile also wait for the refresh.
      const failed = [...batch, ...toRead];
      toRead.clear();
      for (const held of failed) held.state = laneAfter(held.state, { type: 'read_failed' });
      return;
    }
    for (const [index, held] of batch.entries()) {
      const heads = taken.get(held.text);
      const asked = requests[index]?.limit ?? 0;
      post(held, heads === undefined ? { type: 'read_refused' } : { type: 'heads_read', heads, asked });
    }
  };

  const forget = (held: HeldLane): void => {
    const owner = laneOwner(held.key);
    waiting.delete(held);
    toRead.delete(held);
    const madeRoom = slots.lanesLeft() === 0 || slots.isFull(owner);
    // This process may have claimed the lane again before the result of its earlier release arrived.
    if (lanes.get(held.text) === held) lanes.delete(held.text);
    slots.removeLane(owner);
    if (madeRoom) onLanesDue();
  };
  const noteEmpty = (): void => {
    if (lanes.size === 0 && unsettled === 0) onEmpty();
  };

  const countUnhealthy = (): number =>
    [...lanes.values()].filter(({ state }) => !state.isProven || state.health.consecutiveFailures > 0).length;

  return {
    room() {
      const left = slots.lanesLeft();
      // A silent endpoint occupies its slot for the whole deadline. So half of the slots are reserved for proven lanes.
      const unhealthyLeft = Math.max(0, Math.floor(maxInFlight / 2) - countUnhealthy());
      return {
        lanes: left,
        lanesInTrouble: Math.min(Math.ceil(left / 2), unhealthyLeft),
        exceptOwners: slots.fullOwners(),
      };
    },
    adopt(claimed, askedAtMs) {
      if (claimed.now !== undefined) databaseOffsetMs = claimed.now.getTime() - askedAtMs;
      for (const { lane: key, leaseId, isFilled: hasMore, health, isProven, heads } of claimed.lanes) {
        const held: HeldLane = {
          text: laneText(key),
          key,
          leaseId,
          heldSinceMs: performance.now(),
          state: claimedLane({ health, isProven, heads, hasMore, beginUntilMs: beginUntil(askedAtMs) }),
        };
        const isTooMany = isStopping || slots.isFull(laneOwner(key));
        lanes.set(held.text, held);
        slots.addLane(laneOwner(key));
        if (isTooMany) post(held, { type: 'stop' });
        else act(held);
      }
    },
    refresh() {
      for (const held of [...lanes.values()]) post(held, { type: 'may_have_new' });
    },
    async renew() {
      const held = [...lanes.values()].filter(
        ({ state }) => state.stage === 'SENDING' || state.stage === 'DRAINING',
      );
      if (held.length === 0) return;
      const askedAtMs = performance.now();
      const renewed = await store.renew(held.map(({ key: lane, leaseId }) => ({ lane, leaseId })));
      for (const each of held) {
        const own = renewed.get(each.text);
        if (own === undefined) {
          if (each.state.stage === 'SENDING' || each.state.stage === 'DRAINING')
            logger.warn(laneFields(each.key), 'another process has taken over the lane');
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

const releaseOf = ({ releaseDelayMs: delayMs, awaitsSecret }: Lane): LaneReleaseTerms => ({
  delayMs,
  awaitsSecret,
});

/** After a failed write, the lease is not extended. It expires, and the delivery is sent again. */
const leaseAfter = (settled: Settled | undefined): LeaseState => {
  if (settled?.isHeld !== true) return 'over';
  return settled.isPaused ? 'paused' : 'held';
};
