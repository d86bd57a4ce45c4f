import { limitLines } from '../../platform/line-limit.ts';
import type { Logger } from '../../platform/logger.ts';
import type { OutgoingDelivery } from '../domain/delivery.ts';
import { codeOf } from '../../platform/error-code.ts';
import { attemptDelivery } from './attempt-delivery.ts';
import type { AttemptParts, Attempted } from './attempt-delivery.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HeldLane, PostEvent } from './held-lane.ts';
import type { HeldLanes } from './held-lanes.ts';
import { laneFields } from './lane-arrays.ts';
import { isCircuitOpen, laneAfter, mayBegin, nextAction, wantsSlot } from './lane-machine.ts';
import type { Lane, LaneAction, LaneEvent, LaneTerms } from './lane-machine.ts';
import { createLaneReads } from './lane-reads.ts';
import { createLaneWrites } from './lane-writes.ts';
import type { AttemptMetrics } from './lane-writes.ts';

/** Applies events to held lanes, and carries out the actions that follow. */
export interface LaneEvents {
  readonly post: PostEvent;
  /** Begins the next actions of a lane without an event. */
  readonly act: (held: HeldLane) => void;
  /** Whether every write has ended. */
  readonly areWritesDone: () => boolean;
}

export interface LaneEventsParts extends AttemptParts {
  readonly store: DeliveryStore;
  readonly metrics: AttemptMetrics;
  readonly logger: Logger;
  readonly lanes: Pick<HeldLanes, 'slots' | 'remove'>;
  /** Called when a lane may be due. */
  readonly onLanesDue: () => void;
  /** Called when the events that were posted are handled. */
  readonly onHandled: () => void;
  readonly isStopping: () => boolean;
  readonly databaseTime: () => Date;
  /** Interrupts the attempts that are under way. */
  readonly interruptAttempts: AbortSignal;
  readonly stopWriteRetries: AbortSignal;
}

/**
 * One event loop. The machine applies each event to its lane and returns the next action. The action begins, and its
 * end is another event.
 */
export function createLaneEvents(parts: LaneEventsParts): LaneEvents {
  const { logger, random, lanes, onHandled, isStopping, databaseTime, interruptAttempts } = parts;
  const { slots } = lanes;
  const logUnsent = createUnsentLog(logger);
  /** Lanes that want to send and wait for a slot, in order of waiting time. */
  const waiting = new Set<HeldLane>();
  const events: { readonly held: HeldLane; readonly event: LaneEvent }[] = [];
  let isHandling = false;

  const post = (held: HeldLane, event: LaneEvent): void => {
    events.push({ held, event });
    if (isHandling) return;
    isHandling = true;
    for (let next = events.shift(); next !== undefined; next = events.shift()) {
      apply(next.held, next.event);
      act(next.held);
    }
    isHandling = false;
    onHandled();
  };
  const reads = createLaneReads({ ...parts, post });
  const writes = createLaneWrites({ ...parts, post });

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
      mayBegin: () => !isStopping() && mayBegin(held.state, performance.now()),
      databaseTime,
      interrupt: interruptAttempts,
    });
    slots.giveBack(held.owner);
    logUnsent(held, delivery, attempted);
    post(held, eventOf(delivery.id, attempted, random));
    serveWaiting();
  };

  const serveWaiting = (): void => {
    // Without those that wait again meanwhile.
    for (const held of Array.from(waiting)) {
      waiting.delete(held);
      act(held);
    }
  };

  const forget = (held: HeldLane): void => {
    waiting.delete(held);
    reads.forget(held);
    lanes.remove(held);
  };

  return { post, act, areWritesDone: writes.areDone };
}

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

function createUnsentLog(logger: Logger) {
  // A process without name servers or file descriptors fails to send to every endpoint, every few seconds.
  const logFailed = limitLines((line: object, count) => {
    logger.error(
      count === 1 ? line : { ...line, count },
      'webhook attempt failed before it was sent; it is retried',
    );
  }, failedLinesPerMinute);
  return ({ key }: HeldLane, { id }: OutgoingDelivery, attempted: Attempted): void => {
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
        logFailed(codeOf(attempted.error), { err: attempted.error, ...line });
        break;
    }
  };
}

/** The limit for each error code. */
const failedLinesPerMinute = 5;

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
