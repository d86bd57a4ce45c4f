import type { LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import { firstInFlight } from '../domain/lane-health.ts';
import type { LaneHealth } from '../domain/lane-health.ts';
import type { ClaimedLane } from './claim-lanes.sql.ts';
import { laneText } from './lane-arrays.ts';
import type { HeadRequest } from './take-heads.sql.ts';

/** A lane this process holds, and where its work on it stands. */
export interface HeldLane {
  readonly text: string;
  readonly lane: LaneKey;
  readonly leaseId: string;
  readonly heldSinceMs: number;
  /** `leaving`: nothing more is begun on it. `released`: it is being given up, or has been, or was lost. */
  state: 'open' | 'leaving' | 'released';
  /** Not counted any more: another HeldLane may have its name. */
  isForgotten: boolean;
  health: LaneHealth;
  /** Whether it has ever answered well. */
  isProven: boolean;
  /** How many of its deliveries may be on their way. */
  limit: number;
  /** An attempt that begins before (by performance.now) ends before the lease does. */
  beginUntilMs: number;
  /** Deliveries to send next. */
  ready: OutgoingDelivery[];
  /** Ids of deliveries on their way, and of those whose outcome is being written. */
  readonly sending: Set<string>;
  readonly settling: Set<string>;
  isLooking: boolean;
  /** Whether the last look gave all that was asked for. */
  isFilled: boolean;
  /** Whether there may be something new since the last look. */
  isStale: boolean;
  /** How long it is to be left alone when it is given up. */
  delayMs: number;
}

export const heldLane = (claimed: ClaimedLane, nowMs: number, beginUntilMs: number): HeldLane => ({
  text: laneText(claimed.lane),
  lane: claimed.lane,
  leaseId: claimed.leaseId,
  heldSinceMs: nowMs,
  state: 'open',
  isForgotten: false,
  health: claimed.health,
  isProven: claimed.isProven,
  limit: firstInFlight(claimed.health),
  beginUntilMs,
  ready: [...claimed.heads],
  sending: new Set(),
  settling: new Set(),
  isLooking: false,
  isFilled: claimed.isFilled,
  isStale: false,
  delayMs: 0,
});

/** Begins nothing more on a lane; it is given up when what is under way has ended. */
export function leaveLane(held: HeldLane, delayMs = 0): void {
  if (held.state === 'open') held.state = 'leaving';
  held.ready = [];
  held.delayMs = Math.max(held.delayMs, delayMs);
}

/**
 * Whether to look for more: before what was read runs out, as long as there is more; and when something may be new while
 * other deliveries of the lane are on their way. Otherwise the lane is given up, and taken again if it is due.
 */
export function wantsHeads({
  state,
  isLooking,
  ready,
  limit,
  isFilled,
  isStale,
  sending,
}: HeldLane): boolean {
  if (state !== 'open' || isLooking || ready.length >= limit) return false;
  return isFilled || (isStale && sending.size > 0 && sending.size < limit);
}

/** Whether nothing is left to do on a lane but to give it up, once the outcomes that are being written are written. */
export const isAtItsEnd = ({ state, isLooking, isFilled, ready, sending }: HeldLane): boolean =>
  state !== 'released' &&
  sending.size === 0 &&
  ready.length === 0 &&
  !isLooking &&
  (state === 'leaving' || !isFilled);

export const headRequest = ({ lane, leaseId, limit, ready, sending, settling }: HeldLane): HeadRequest => ({
  lane,
  leaseId,
  limit: 2 * limit - ready.length,
  exceptIds: [...sending, ...settling, ...ready.map(({ id }) => id)],
});
