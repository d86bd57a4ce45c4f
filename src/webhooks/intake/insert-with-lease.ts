import type { Pool, PoolClient } from 'pg';
import { headsWithClaim } from '../delivery/claim-lanes.sql.ts';
import type { Claimed, ClaimedLane } from '../delivery/claim-lanes.sql.ts';
import { laneText } from '../delivery/lane-arrays.ts';
import type { LaneLease } from '../delivery/lane-runner.ts';
import type { OutgoingDelivery } from '../domain/delivery.ts';
import { insertDeliveries } from './insert-deliveries.sql.ts';
import type { EventReceiver, InsertedDelivery, NewDelivery, ReaderMove } from './insert-deliveries.sql.ts';

/** The deliveries that were new. */
export interface WrittenDeliveries {
  readonly created: readonly EventReceiver[];
  /** The number of created deliveries that a dispatcher must claim. */
  readonly unclaimed: number;
  /** The lanes that were leased, with their deliveries, as a claim returns them. */
  readonly claimed: Claimed;
}

/** Creates deliveries, and leases their lanes if these are idle and not more than the lease allows. */
export async function insertWithLease(
  client: Pool | PoolClient,
  deliveries: readonly NewDelivery[],
  move: ReaderMove | undefined,
  lease: LaneLease | undefined,
): Promise<WrittenDeliveries> {
  const hasCapacity = lease !== undefined && new Set(deliveries.map(laneText)).size <= lease.lanes;
  const created = await insertDeliveries(client, deliveries, move, hasCapacity ? lease : undefined);
  const claimed = created.filter(({ claimedAt }) => claimedAt !== undefined);
  return {
    created,
    unclaimed: created.length - claimed.length,
    claimed: { lanes: leasedLanes(deliveries, claimed, lease?.leaseId ?? ''), now: claimed[0]?.claimedAt },
  };
}

function leasedLanes(
  deliveries: readonly NewDelivery[],
  claimed: readonly InsertedDelivery[],
  leaseId: string,
): readonly ClaimedLane[] {
  const times = new Map(claimed.map((each) => [receiverText(each), each.claimedAt]));
  const outgoing = deliveries.flatMap((each): OutgoingDelivery[] => {
    const roundStartedAt = times.get(receiverText(each));
    return roundStartedAt === undefined
      ? []
      : [{ ...each, attemptNumber: 1, roundAttempts: 0, roundStartedAt }];
  });
  return [...Map.groupBy(outgoing, laneText)].map(([, deliveries]) => leasedLane(deliveries, leaseId));
}

const receiverText = ({ eventId, endpoint }: EventReceiver): string => `${eventId} ${endpoint}`;

/** A lane without deliveries before these. A later one of the same order waits until the first one has ended, and is read then. */
function leasedLane(deliveries: readonly OutgoingDelivery[], leaseId: string): ClaimedLane {
  const [first] = deliveries;
  if (first === undefined) throw new Error('a lane without deliveries');
  const { merchantId, environment, endpoint } = first;
  const heads = firstsOfOrders(deliveries).slice(0, headsWithClaim);
  return {
    lane: { merchantId, environment, endpoint },
    leaseId,
    isProven: true,
    health: { consecutiveFailures: 0, probeAt: undefined },
    heads,
    isFilled: heads.length < deliveries.length,
  };
}

/** A test event has no order, and waits for nothing. */
function firstsOfOrders(deliveries: readonly OutgoingDelivery[]): OutgoingDelivery[] {
  const firsts = new Map<string, bigint>();
  for (const { orderId, sequence } of deliveries) {
    const first = firsts.get(orderId);
    if (first === undefined || sequence < first) firsts.set(orderId, sequence);
  }
  return deliveries.filter(({ orderId, sequence }) => orderId === '' || firsts.get(orderId) === sequence);
}
