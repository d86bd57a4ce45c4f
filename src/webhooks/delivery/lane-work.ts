import type { Logger } from '../../runtime/logger.ts';
import type { OutgoingDelivery } from '../domain/delivery.ts';
import { failuresBeforeRest, healthAfter, inFlightAfter } from '../domain/lane-health.ts';
import type { AttemptMetrics } from '../health/webhook-metrics.ts';
import { attemptDelivery, logAttempt } from './attempt-delivery.ts';
import type { AttemptParts, AttemptTerms } from './attempt-delivery.ts';
import type { Claimed } from './claim-lanes.sql.ts';
import type { DeliveryStore } from './delivery-store.ts';
import { laneFields } from './lane-arrays.ts';
import { headRequest, heldLane, isAtItsEnd, leaveLane, wantsHeads } from './held-lane.ts';
import type { HeldLane } from './held-lane.ts';
import { createPlaces } from './places.ts';
import { settlePatiently } from './settle-patiently.ts';
import type { EndedAttempt } from './write-attempts.sql.ts';

export interface LaneWorkParts extends AttemptParts {
  readonly store: DeliveryStore;
  readonly metrics: AttemptMetrics;
  readonly logger: Logger;
  readonly maxInFlight: number;
  /** An attempt takes no longer than this. */
  readonly deadlineMs: number;
  /** Called when there may be a lane to take. */
  readonly onLanesDue: () => void;
  /** Ends what is on its way. */
  readonly cut: AbortSignal;
  /** Ends the attempts to write what came of it. */
  readonly abandon: AbortSignal;
}

/** The lanes a process holds, and everything it sends on them. */
export interface LaneWork {
  /** How many lanes there is room for, and whose not. */
  readonly room: () => { lanes: number; lanesInTrouble: number; exceptMerchantIds: string[] };
  /** Begins to send on lanes that were asked for at `askedAtMs` (performance.now). */
  readonly adopt: (claimed: Claimed, askedAtMs: number) => void;
  /** There may be something new on the lanes that are held. */
  readonly refresh: () => void;
  /** Holds the lanes for longer, and hears which of them are paused or lost. */
  readonly renew: () => Promise<void>;
  /** Begins nothing more from now on. */
  readonly leave: () => void;
  /** After `leave`: resolves when no lane is held and everything is written, or abandoned. */
  readonly whenEmpty: () => Promise<void>;
}

/** What cannot even be tried is left alone for a while, or it would be tried without a pause. */
const delayAfterFailureMs = 5_000;
/** How long a lane is worked on when others wait for their turn. */
const sliceMs = 1_000;
const outlivedAtOnce = 1_000;
const outlivedRounds = 20;

export function createLaneWork(parts: LaneWorkParts): LaneWork {
  const { store, metrics, logger, random, maxInFlight, deadlineMs, onLanesDue, cut, abandon } = parts;
  const places = createPlaces(maxInFlight);
  const lanes = new Map<string, HeldLane>();
  /** Lanes with something to send and no place for it, longest waiting first. */
  const waiting = new Set<HeldLane>();
  const wanting = new Set<HeldLane>();
  let isReading = false;
  let isLeaving = false;
  let unsettled = 0;
  let databaseOffsetMs = 0;
  let onEmpty = (): void => {};

  const databaseTime = (): Date => new Date(performance.now() + databaseOffsetMs);
  const beginUntil = (askedAtMs: number): number => askedAtMs + store.leaseMs - deadlineMs;

  const noteEmpty = (): void => {
    if (lanes.size === 0 && unsettled === 0) onEmpty();
  };
  const forget = (held: HeldLane): void => {
    held.state = 'released';
    held.ready = [];
    waiting.delete(held);
    wanting.delete(held);
    if (held.isForgotten) return;
    held.isForgotten = true;
    const wasInTheWay = places.lanesLeft() === 0 || places.isFull(held.lane.merchantId);
    // Given up and taken again before this process heard that it was given up: then the name is the new one's.
    if (lanes.get(held.text) === held) lanes.delete(held.text);
    places.removeLane(held.lane.merchantId);
    if (wasInTheWay) onLanesDue();
    noteEmpty();
  };

  const settle = async (held: HeldLane, attempt?: EndedAttempt, release?: { delayMs: number }) => {
    const { lane, leaseId } = held;
    unsettled += 1;
    const settlement = {
      lane,
      leaseId,
      ...(attempt === undefined ? {} : { attempt }),
      ...(release === undefined ? {} : { release }),
    };
    const settled = await settlePatiently(store, settlement, { logger, abandon });
    unsettled -= 1;
    if (attempt !== undefined) {
      held.settling.delete(attempt.delivery.id);
      const isRecorded = settled?.isHeld === true;
      logAttempt(logger, attempt, isRecorded);
      if (isRecorded) metrics.attempted(attempt.delivery, attempt.report);
    }
    if (settled?.isHeld !== true || release !== undefined) forget(held);
    else if (settled.isPaused) leaveLane(held);
    if (settled?.isHeld === true && settled.isDue) onLanesDue();
    noteEmpty();
    advance(held);
  };

  const endLane = async (held: HeldLane): Promise<void> => {
    held.state = 'released';
    if (isResting(held)) await giveUpOutlived(held);
    await settle(held, undefined, { delayMs: held.delayMs });
  };
  const giveUpOutlived = async ({ lane, leaseId }: HeldLane): Promise<void> => {
    try {
      for (let round = 0; round < outlivedRounds && !isLeaving; round += 1) {
        const count = await store.giveUpOutlived({ lane, leaseId }, outlivedAtOnce);
        if (count > 0)
          logger.warn({ ...laneFields(lane), count }, 'webhooks given up: their endpoint did not answer');
        if (count < outlivedAtOnce) return;
      }
    } catch (error) {
      logger.warn(
        { err: error, ...laneFields(lane) },
        'old webhooks were not given up; they are after the next probe',
      );
    }
  };

  /** Does whatever comes next on a lane. Called after everything that changes what that is. */
  const advance = (held: HeldLane): void => {
    const { merchantId } = held.lane;
    while (held.ready.length > 0 && held.sending.size < Math.min(held.limit, places.share(merchantId))) {
      // The next renewal of the lease comes back here.
      if (performance.now() >= held.beginUntilMs) break;
      if (!places.isFree(merchantId)) {
        waiting.add(held);
        break;
      }
      const delivery = held.ready.shift();
      if (delivery !== undefined) void send(held, delivery);
    }
    if (wantsHeads(held)) {
      held.isLooking = true;
      wanting.add(held);
      void read();
    }
    if (isAtItsEnd(held) && held.settling.size === 0) void endLane(held);
  };
  const serveWaiting = (): void => {
    for (const held of [...waiting]) {
      waiting.delete(held);
      advance(held);
    }
  };

  const send = async (held: HeldLane, delivery: OutgoingDelivery): Promise<void> => {
    const { merchantId } = held.lane;
    held.sending.add(delivery.id);
    places.take(merchantId);
    const terms: AttemptTerms = {
      mayBegin: () => held.state === 'open' && !isLeaving && performance.now() < held.beginUntilMs,
      databaseTime,
      cut,
    };
    const attempted = await attemptDelivery(parts, delivery, terms);
    held.sending.delete(delivery.id);
    places.giveBack(merchantId);
    switch (attempted.type) {
      case 'ended':
        noteOutcome(held, attempted.attempt);
        held.settling.add(delivery.id);
        advance(held);
        void settleLast(held, attempted.attempt);
        break;
      case 'not_begun':
        held.isFilled = true;
        advance(held);
        break;
      case 'cut':
        logger.info(
          { ...laneFields(held.lane), delivery_id: delivery.id },
          'a webhook was cut short; it is sent again',
        );
        leaveLane(held);
        advance(held);
        break;
      case 'failed':
        logger.error(
          { err: attempted.error, ...laneFields(held.lane), delivery_id: delivery.id },
          'a webhook could not be sent; it is tried again',
        );
        leaveLane(held, delayAfterFailureMs);
        advance(held);
        break;
    }
    serveWaiting();
  };
  /** The outcome after which there is nothing left to do is written together with the lane's release. */
  const settleLast = (held: HeldLane, attempt: EndedAttempt): Promise<void> => {
    const isLast = isAtItsEnd(held) && held.settling.size === 1 && !isResting(held);
    if (!isLast) return settle(held, attempt);
    held.state = 'released';
    return settle(held, attempt, { delayMs: held.delayMs });
  };
  const noteOutcome = (held: HeldLane, { next, endedAt }: EndedAttempt): void => {
    const before = held.health;
    const isDelivered = next.type === 'delivered';
    held.health = healthAfter(before, { isDelivered, endedAt, random });
    held.isProven ||= isDelivered;
    held.limit = inFlightAfter(held.limit, isDelivered);
    if (next.type === 'pause' || isResting(held)) leaveLane(held);
    const failures = held.health.consecutiveFailures;
    if (before.consecutiveFailures < failuresBeforeRest && failures >= failuresBeforeRest)
      logger.warn({ ...laneFields(held.lane), failures }, 'an endpoint that keeps failing rests');
    if (before.consecutiveFailures >= failuresBeforeRest && failures === 0)
      logger.info(laneFields(held.lane), 'an endpoint is well again');
  };
  const isResting = ({ health }: HeldLane): boolean =>
    health.restingUntil !== undefined && health.consecutiveFailures >= failuresBeforeRest;

  /** Looks for more deliveries of all lanes that want some, one statement at a time. */
  const read = async (): Promise<void> => {
    if (isReading) return;
    isReading = true;
    while (wanting.size > 0) {
      const batch = [...wanting];
      wanting.clear();
      if (!(await readFor(batch))) askLater();
    }
    isReading = false;
  };
  /** Whoever began to want something while the database did not answer asks anew, too, at the next refresh. */
  const askLater = (): void => {
    for (const held of wanting) held.isLooking = false;
    wanting.clear();
  };
  const readFor = async (batch: readonly HeldLane[]): Promise<boolean> => {
    const requests = batch.map(headRequest);
    for (const held of batch) held.isStale = false;
    const taken = await store.take(requests).catch((error: unknown) => {
      logger.warn({ err: error }, 'the database gives no webhooks to send; it is asked again');
      return undefined;
    });
    for (const [index, held] of batch.entries()) {
      held.isLooking = false;
      const heads = taken?.get(held.text);
      // Without an answer the lane waits, as it is, until the next refresh.
      if (taken === undefined) continue;
      if (heads === undefined) leaveLane(held);
      else if (held.state === 'open') {
        held.ready.push(...heads);
        held.isFilled = heads.length >= (requests[index]?.limit ?? 0);
      }
      advance(held);
    }
    return taken !== undefined;
  };

  const countInTrouble = (): number =>
    [...lanes.values()].filter(({ health, isProven }) => !isProven || health.consecutiveFailures > 0).length;
  const makeWay = (held: HeldLane): void => {
    const isOver = performance.now() - held.heldSinceMs > sliceMs;
    if (isOver && places.isCrowded()) leaveLane(held);
  };

  return {
    room() {
      const left = places.lanesLeft();
      // Lanes that do not answer hold a place for as long as an attempt may take: half the places are not for them, nor
      // for those that have yet to show that they do.
      const troubleLeft = Math.max(0, Math.floor(maxInFlight / 2) - countInTrouble());
      return {
        lanes: left,
        lanesInTrouble: Math.min(Math.ceil(left / 2), troubleLeft),
        exceptMerchantIds: places.fullMerchants(),
      };
    },
    adopt(claimed, askedAtMs) {
      if (claimed.now !== undefined) databaseOffsetMs = claimed.now.getTime() - askedAtMs;
      for (const each of claimed.lanes) {
        const held = heldLane(each, performance.now(), beginUntil(askedAtMs));
        const isTooMany = isLeaving || places.isFull(held.lane.merchantId);
        lanes.set(held.text, held);
        places.addLane(held.lane.merchantId);
        if (isTooMany) leaveLane(held);
        advance(held);
      }
    },
    refresh() {
      for (const held of lanes.values()) {
        held.isStale = true;
        advance(held);
      }
    },
    async renew() {
      const held = [...lanes.values()].filter(({ state }) => state !== 'released');
      if (held.length === 0) return;
      const askedAtMs = performance.now();
      const renewed = await store.renew(held);
      for (const each of held) {
        const own = renewed.get(each.text);
        if (own === undefined) {
          if (each.state !== 'released')
            logger.warn(laneFields(each.lane), 'a lane was lost to another process');
          forget(each);
          continue;
        }
        each.beginUntilMs = beginUntil(askedAtMs);
        if (own.isPaused) leaveLane(each);
        makeWay(each);
        advance(each);
      }
    },
    leave() {
      isLeaving = true;
      for (const held of [...lanes.values()]) {
        leaveLane(held);
        advance(held);
      }
    },
    whenEmpty: () =>
      new Promise((resolve) => {
        onEmpty = resolve;
        noteEmpty();
      }),
  };
}
