import type { OutgoingDelivery } from '../domain/delivery.ts';
import { failuresBeforeOpen, firstInFlight, healthAfter, inFlightAfter } from '../domain/lane-health.ts';
import type { LaneHealth } from '../domain/lane-health.ts';
import type { EndedAttempt } from './write-attempts.sql.ts';

/*
 * A lane is a host or a webhook endpoint of one merchant in one environment, with its deliveries. Only the process that holds the
 * lease of a lane sends them. Its heads are the deliveries that may be sent now: each is due, and is the first pending one of its order. This file
 * is the state machine of a lane that this process holds. Its functions are pure. `lane-events.ts` reports the events and does the actions.
 *
 *        slice over, paused, circuit open, no secret, interrupted, stop
 *   SENDING ──────────────────────────────────────────────────────► DRAINING
 *      │ nothing left to send                                            │ nothing under way
 *      └──────────────────────► RELEASING ◄──────────────────────────────┘
 *                                   │ written
 *      the lease was lost, ───► RELEASED
 *      at any stage
 *
 * Attempts that were under way when the lease was lost still end, and their results are still sent to the database. It refuses
 * them if another process has taken the lane, and records them if none has.
 */

/** The stage of a lane's life cycle. */
export type LaneStage = 'SENDING' | 'DRAINING' | 'RELEASING' | 'RELEASED';

/** The state of a lane. Brackets name the events that change a field. */
export interface Lane {
  readonly stage: LaneStage;
  /** [attempt_ended] */
  readonly health: LaneHealth;
  /** Whether the receiver has ever answered 2xx. [attempt_ended] */
  readonly isProven: boolean;
  /** How many deliveries may be under way at once. [attempt_ended] */
  readonly inFlightLimit: number;
  /** An attempt that begins before this instant of performance.now() ends before the lease does. [renewed] */
  readonly beginUntilMs: number;
  /** Deliveries to send next, in order. [heads_read, send_began; emptied when the lane drains] */
  readonly ready: readonly OutgoingDelivery[];
  /** [send_began, attempt_ended, send_not_begun, send_interrupted, send_failed, secret_missing] */
  readonly sendingIds: ReadonlySet<string>;
  /** Attempts whose outcome is not being written yet. [attempt_ended, record_began] */
  readonly ended: readonly EndedAttempt[];
  /** [record_began, recorded] */
  readonly recordingIds: ReadonlySet<string>;
  /** [read_began, heads_read, read_refused, read_failed] */
  readonly isReading: boolean;
  /** Whether the last read returned as many deliveries as its limit, so that there may be more. [heads_read, send_not_begun] */
  readonly hasMore: boolean;
  /** Whether deliveries may have been added since the last read. [may_have_new, read_began] */
  readonly mayHaveNew: boolean;
  /** How long nothing is sent on the lane after its release. [send_failed] */
  readonly releaseDelayMs: number;
  /** Whether nothing is sent on the lane until a signing secret is created. [secret_missing] */
  readonly awaitsSecret: boolean;
}

export type LaneEvent =
  | { readonly type: 'send_began'; readonly deliveryId: string }
  | { readonly type: 'attempt_ended'; readonly attempt: EndedAttempt; readonly random: () => number }
  /** The lease would have expired before the attempt's deadline. */
  | { readonly type: 'send_not_begun'; readonly deliveryId: string }
  /** The process stops. It is unknown whether the receiver got the delivery, so the next holder sends it again. */
  | { readonly type: 'send_interrupted'; readonly deliveryId: string }
  /** The delivery could not be signed, this machine could not open a connection, or the program has a defect. */
  | { readonly type: 'send_failed'; readonly deliveryId: string }
  /** No signing secret was shown yet. */
  | { readonly type: 'secret_missing'; readonly deliveryId: string }
  | { readonly type: 'read_began' }
  | { readonly type: 'heads_read'; readonly heads: readonly OutgoingDelivery[]; readonly asked: number }
  /** The lane is paused, or another process holds it. */
  | { readonly type: 'read_refused' }
  /** The database did not answer. */
  | { readonly type: 'read_failed' }
  | { readonly type: 'record_began'; readonly deliveryId: string; readonly isRelease: boolean }
  /** Whether or not the outcome was written, `lease` is the state of the lane's lease. */
  | { readonly type: 'recorded'; readonly deliveryId: string; readonly lease: LeaseState }
  | { readonly type: 'release_began' }
  /** The release was written, or it failed and the lease expires by itself. */
  | { readonly type: 'released' }
  /** Another process holds the lease. */
  | { readonly type: 'lost' }
  /** `mustDrain`: the lane is paused, or other lanes wait for their turn. */
  | { readonly type: 'renewed'; readonly beginUntilMs: number; readonly mustDrain: boolean }
  | { readonly type: 'may_have_new' }
  | { readonly type: 'stop' };

/** The state of a lease. `over`: it was released, belongs to another process, or is unusable. */
export type LeaseState = 'held' | 'paused' | 'over';

/** The next action on a lane. */
export type LaneAction =
  | { readonly type: 'send'; readonly delivery: OutgoingDelivery }
  | { readonly type: 'read' }
  /** `isRelease`: the lane has nothing left to do, so its release is written in the same transaction. */
  | { readonly type: 'record'; readonly attempt: EndedAttempt; readonly isRelease: boolean }
  /** `abandonExpired`: deliveries whose schedule ended while the circuit was open are abandoned first. */
  | { readonly type: 'release'; readonly abandonExpired: boolean };

/** The conditions under which the next action is chosen. */
export interface LaneTerms {
  /** performance.now() */
  readonly nowMs: number;
  /** The number of deliveries of this lane that may be in flight, given the demand of other lanes. */
  readonly share: number;
  /** Whether a concurrency slot is free. */
  readonly hasSlot: boolean;
}

/** The delay after a delivery that could not be sent. It prevents a busy loop. */
const delayAfterFailureMs = 5_000;

/** The state of a lane at the beginning of its lease. */
export const initialLane = (leased: {
  readonly health: LaneHealth;
  readonly isProven: boolean;
  readonly heads: readonly OutgoingDelivery[];
  readonly hasMore: boolean;
  readonly beginUntilMs: number;
}): Lane => ({
  stage: 'SENDING',
  health: leased.health,
  isProven: leased.isProven,
  inFlightLimit: firstInFlight(leased.health),
  beginUntilMs: leased.beginUntilMs,
  ready: leased.heads,
  sendingIds: new Set(),
  ended: [],
  recordingIds: new Set(),
  isReading: false,
  hasMore: leased.hasMore,
  mayHaveNew: false,
  releaseDelayMs: 0,
  awaitsSecret: false,
});

/** The lane after an event. It is defined for every stage and event. */
export function laneAfter(lane: Lane, event: LaneEvent): Lane {
  switch (event.type) {
    case 'send_began':
      return {
        ...lane,
        ready: lane.ready.filter(({ id }) => id !== event.deliveryId),
        sendingIds: withId(lane.sendingIds, event.deliveryId),
      };
    case 'attempt_ended':
      return afterAttemptEnded(lane, event);
    case 'send_not_begun':
      return { ...notSending(lane, event.deliveryId), hasMore: true };
    case 'send_interrupted':
      return drainingLane(notSending(lane, event.deliveryId));
    case 'send_failed':
      return drainingLane({ ...notSending(lane, event.deliveryId), releaseDelayMs: delayAfterFailureMs });
    case 'secret_missing':
      return drainingLane({ ...notSending(lane, event.deliveryId), awaitsSecret: true });
    case 'read_began':
      return { ...lane, isReading: true, mayHaveNew: false };
    case 'heads_read': {
      const read = { ...lane, isReading: false };
      if (lane.stage !== 'SENDING') return read;
      return { ...read, ready: [...lane.ready, ...event.heads], hasMore: event.heads.length >= event.asked };
    }
    case 'read_refused':
      return drainingLane({ ...lane, isReading: false });
    case 'read_failed':
      return { ...lane, isReading: false };
    case 'record_began':
      return {
        ...(event.isRelease ? atLeast(lane, 'RELEASING') : lane),
        ended: lane.ended.filter(({ delivery }) => delivery.id !== event.deliveryId),
        recordingIds: withId(lane.recordingIds, event.deliveryId),
      };
    case 'recorded': {
      const recorded = { ...lane, recordingIds: withoutId(lane.recordingIds, event.deliveryId) };
      if (event.lease === 'over') return releasedLane(recorded);
      return event.lease === 'paused' ? drainingLane(recorded) : recorded;
    }
    case 'release_began':
      return atLeast(lane, 'RELEASING');
    case 'released':
    case 'lost':
      return releasedLane(lane);
    case 'renewed': {
      const renewed = { ...lane, beginUntilMs: event.beginUntilMs };
      return event.mustDrain ? drainingLane(renewed) : renewed;
    }
    case 'may_have_new':
      return { ...lane, mayHaveNew: true };
    case 'stop':
      return drainingLane(lane);
  }
}

/** The next action on a lane; undefined while the lane waits for an event. */
export function nextAction(lane: Lane, terms: LaneTerms): LaneAction | undefined {
  const [delivery] = lane.ready;
  if (delivery !== undefined && terms.hasSlot && wantsSlot(lane, terms)) return { type: 'send', delivery };
  if (wantsHeads(lane)) return { type: 'read' };
  const [attempt] = lane.ended;
  const circuitOpen = isCircuitOpen(lane);
  if (attempt !== undefined) {
    const isLast = lane.ended.length === 1 && lane.recordingIds.size === 0 && hasNothingToSend(lane);
    return { type: 'record', attempt, isRelease: isLast && !circuitOpen };
  }
  if (lane.recordingIds.size === 0 && hasNothingToSend(lane))
    return { type: 'release', abandonExpired: circuitOpen };
  return undefined;
}

/** Whether the lane would send a delivery now if a slot were free. */
export const wantsSlot = (
  { stage, ready, sendingIds, inFlightLimit, beginUntilMs }: Lane,
  { share, nowMs }: Pick<LaneTerms, 'share' | 'nowMs'>,
): boolean =>
  stage === 'SENDING' &&
  ready.length > 0 &&
  sendingIds.size < Math.min(inFlightLimit, share) &&
  nowMs < beginUntilMs;

/** Whether an attempt that was prepared may still begin. */
export const mayBegin = ({ stage, beginUntilMs }: Lane, nowMs: number): boolean =>
  stage === 'SENDING' && nowMs < beginUntilMs;

/** The number of further deliveries to read, not counting those in flight. */
export const wantedHeads = ({
  inFlightLimit,
  ready,
  sendingIds,
  ended,
  recordingIds,
}: Lane): { readonly limit: number; readonly exceptIds: readonly string[] } => ({
  limit: 2 * inFlightLimit - ready.length,
  exceptIds: [
    ...sendingIds,
    ...ended.map(({ delivery }) => delivery.id),
    ...recordingIds,
    ...ready.map(({ id }) => id),
  ],
});

/** Whether the receiver failed so often that only an occasional probe is sent. */
export const isCircuitOpen = ({ health }: Pick<Lane, 'health'>): boolean =>
  health.probeAt !== undefined && health.consecutiveFailures >= failuresBeforeOpen;

/**
 * Reads ahead while there may be more deliveries. It also reads when new ones may have arrived while others are in
 * flight. Otherwise the lane is released, and leased again if it is due.
 */
function wantsHeads({
  stage,
  isReading,
  ready,
  inFlightLimit,
  hasMore,
  mayHaveNew,
  sendingIds,
}: Lane): boolean {
  if (stage !== 'SENDING' || isReading || ready.length >= inFlightLimit) return false;
  return hasMore || (mayHaveNew && sendingIds.size > 0 && sendingIds.size < inFlightLimit);
}

const hasNothingToSend = ({ stage, isReading, hasMore, ready, sendingIds }: Lane): boolean =>
  sendingIds.size === 0 &&
  ready.length === 0 &&
  !isReading &&
  (stage === 'DRAINING' || (stage === 'SENDING' && !hasMore));

function afterAttemptEnded(
  lane: Lane,
  { attempt, random }: Extract<LaneEvent, { type: 'attempt_ended' }>,
): Lane {
  const isDelivered = attempt.next.type === 'delivered';
  const after = {
    ...notSending(lane, attempt.delivery.id),
    health: healthAfter(lane.health, { isDelivered, endedAt: attempt.endedAt, random }),
    isProven: lane.isProven || isDelivered,
    inFlightLimit: inFlightAfter(lane.inFlightLimit, isDelivered),
    ended: [...lane.ended, attempt],
  };
  return attempt.next.type === 'pause' || isCircuitOpen(after) ? drainingLane(after) : after;
}

/** Begins no further attempt on the lane. From RELEASING on, the lane is ending already. */
const drainingLane = (lane: Lane): Lane => ({ ...atLeast(lane, 'DRAINING'), ready: [] });

const releasedLane = (lane: Lane): Lane => ({ ...lane, stage: 'RELEASED', ready: [] });

const stages: readonly LaneStage[] = ['SENDING', 'DRAINING', 'RELEASING', 'RELEASED'];

/** A lane never goes back to an earlier stage. */
const atLeast = (lane: Lane, stage: LaneStage): Lane =>
  stages.indexOf(lane.stage) < stages.indexOf(stage) ? { ...lane, stage } : lane;

const notSending = (lane: Lane, deliveryId: string): Lane => ({
  ...lane,
  sendingIds: withoutId(lane.sendingIds, deliveryId),
});

const withId = (ids: ReadonlySet<string>, id: string): ReadonlySet<string> => new Set(ids).add(id);
const withoutId = (ids: ReadonlySet<string>, id: string): ReadonlySet<string> => {
  const rest = new Set(ids);
  rest.delete(id);
  return rest;
};
