import type { Pool, PoolClient } from 'pg';
import { headsWithLease } from '../delivery/lease-lanes.sql.ts';
import type { LeasedLanes, LeasedLane } from '../delivery/lease-lanes.sql.ts';
import { laneText } from '../delivery/lane-arrays.ts';
import type { LaneLease } from '../delivery/lane-runner.ts';
import type { OutgoingDelivery } from '../domain/delivery.ts';
import { insertDeliveries } from './insert-deliveries.sql.ts';
import type { EventReceiver, InsertedDelivery, NewDelivery, ReaderMove } from './insert-deliveries.sql.ts';

/** The deliveries that were new. */
export interface WrittenDeliveries {
  readonly created: readonly EventReceiver[];
  /** The number of created deliveries whose lanes a dispatcher must lease. */
  readonly unleased: number;
  /** The lanes that were leased, with their deliveries, as `leaseLanes` returns them. */
  readonly leased: LeasedLanes;
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
  const leased = created.filter(({ leasedAt }) => leasedAt !== undefined);
  return {
    created,
    unleased: created.length - leased.length,
    leased: { lanes: leasedLanes(deliveries, leased, lease?.leaseId ?? ''), now: leased[0]?.leasedAt },
  };
}

function leasedLanes(
  deliveries: readonly NewDelivery[],
  leased: readonly InsertedDelivery[],
  leaseId: string,
): readonly LeasedLane[] {
  const times = new Map(leased.map((each) => [receiverText(each), each.leasedAt]));
  const outgoing = deliveries.flatMap((each): OutgoingDelivery[] => {
    const roundStartedAt = times.get(receiverText(each));
    return roundStartedAt === undefined
      ? []
      : [{ ...each, attemptNumber: 1, roundAttempts: 0, roundStartedAt }];
  });
  return [...Map.groupBy(outgoing, laneText)].map(([, deliveries]) => leasedLane(deliveries, leaseId));
}

const receiverText = ({ eventId, endpoint }: EventReceiver): string => `${eventId} ${endpoint}`;

/** A lane without deliveries before these. A later delivery of the same order waits until the first one has ended, and is read then. */
function leasedLane(deliveries: readonly OutgoingDelivery[], leaseId: string): LeasedLane {
  const [first] = deliveries;
  if (first === undefined) throw new Error('a lane without deliveries');
  const { merchantId, environment, endpoint } = first;
  const heads = firstsOfOrders(deliveries).slice(0, headsWithLease);
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
