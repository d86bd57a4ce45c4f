import type { Logger } from '../../platform/logger.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HeldLane, PostEvent } from './held-lane.ts';
import { laneFields } from './lane-arrays.ts';
import type { Slots } from './slots.ts';

/** How long a lane is served while others wait for their turn. */
const sliceMs = 1_000;

export interface RenewHeldLanesParts {
  readonly store: Pick<DeliveryStore, 'renew'>;
  readonly slots: Pick<Slots, 'isCrowded'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly post: PostEvent;
  /** Until when attempts may begin under a lease that was requested at `requestedAtMs`. */
  readonly beginUntil: (requestedAtMs: number) => number;
}

/** Extends the leases of lanes, and finds those that are paused, lost, or were served long enough. */
export async function renewHeldLanes(
  lanes: readonly HeldLane[],
  { store, slots, logger, post, beginUntil }: RenewHeldLanesParts,
): Promise<void> {
  const leased = lanes.filter(needsLease);
  if (leased.length === 0) return;
  const requestedAtMs = performance.now();
  const renewed = await store.renew(leased.map(({ key: lane, leaseId }) => ({ lane, leaseId })));
  for (const held of leased) {
    const renewal = renewed.get(held.text);
    if (renewal === undefined) {
      if (needsLease(held))
        logger.warn(
          laneFields(held.key),
          'this process did not renew its lease in time, so another one sends the webhooks of this endpoint',
        );
      post(held, { type: 'lost' });
      continue;
    }
    const isSliceOver = performance.now() - held.heldSinceMs > sliceMs && slots.isCrowded();
    const mustDrain = renewal.isPaused || isSliceOver;
    post(held, { type: 'renewed', beginUntilMs: beginUntil(requestedAtMs), mustDrain });
  }
}

const needsLease = ({ state: { stage } }: HeldLane): boolean => stage === 'SENDING' || stage === 'DRAINING';
