import { isDataRefused } from '../../platform/database/explain-error.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { Database } from '../database/database.ts';
import type { LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import { leaseLanes } from './lease-lanes.sql.ts';
import type { LeaseRequest, LeasedLanes } from './lease-lanes.sql.ts';
import { abandonExpired } from './abandon-expired.sql.ts';
import { postponeWaiting } from './postpone-waiting.sql.ts';
import { renewLeases } from './renew-leases.sql.ts';
import type { HeldLease } from './renew-leases.sql.ts';
import { writeLanes } from './write-lanes.ts';
import type { LaneWriteResult, LaneWrite } from './write-lanes.ts';
import { takeHeads } from './take-heads.sql.ts';
import type { HeadRequest } from './take-heads.sql.ts';

/** The number of results that one transaction writes. A result that waits for another's commit joins the next batch. */
const maxLaneWrites = 500;
/** An upper bound that is never reached: all deliveries in flight and one release per lane stay below it. */
const maxWaitingLaneWrites = 100_000;

/**
 * The store of lanes and deliveries for the dispatcher. Leases and due times use the database's clock. A method rejects
 * when the database fails. Each call is applied completely or not at all.
 */
export interface DeliveryStore {
  readonly leaseMs: number;
  /** A lease for lanes that are leased by a statement of another store. */
  readonly newLease: () => { readonly leaseId: string; readonly leaseMs: number };
  /** Leases due lanes with their first deliveries. */
  readonly lease: (request: Omit<LeaseRequest, 'leaseId' | 'leaseMs'>) => Promise<LeasedLanes>;
  /** Reads more deliveries of held lanes. A lane that is missing from the result is paused or held by another process. */
  readonly take: (
    requests: readonly HeadRequest[],
  ) => Promise<ReadonlyMap<string, readonly OutgoingDelivery[]>>;
  /** Extends leases. A lane that is missing from the result is held by another process. */
  readonly renew: (
    leases: readonly HeldLease[],
  ) => Promise<ReadonlyMap<string, { readonly isPaused: boolean }>>;
  /** Writes the outcome of an attempt, releases a lane, or both. Concurrent calls share one transaction. */
  readonly writeLane: (write: LaneWrite, signal: AbortSignal) => Promise<LaneWriteResult>;
  /** Abandons at most `limit` deliveries of a held lane whose schedule ended before they were sent. Returns their number. */
  readonly abandonExpired: (lease: HeldLease, limit: number) => Promise<number>;
  /** Postpones the next deliveries of a lane if all of them wait for earlier ones of their orders. Returns their number. */
  readonly postponeWaiting: (lane: LaneKey) => Promise<number>;
}

export interface DeliveryStoreParts {
  readonly database: Pick<Database, 'pool'>;
  /** A UUID. */
  readonly newLeaseId: () => string;
  readonly random: () => number;
  /** The lease time of a lane without renewal. It is longer than an attempt may take. */
  readonly leaseMs: number;
  /** The time of this machine's clock. */
  readonly machineNow: () => Date;
}

export function createDeliveryStore(parts: DeliveryStoreParts): DeliveryStore {
  const { newLeaseId, random, leaseMs, machineNow } = parts;
  const { pool } = parts.database;
  const newLease = () => ({ leaseId: newLeaseId(), leaseMs });
  return {
    leaseMs,
    newLease,
    lease: (request) => leaseLanes(pool, { ...request, ...newLease() }),
    take: (requests) => takeHeads(pool, requests),
    renew: (leases) => renewLeases(pool, leases, leaseMs),
    writeLane: createBatcher<LaneWrite, LaneWriteResult>({
      isOneItemsFault: isDataRefused,
      run: (writes) => writeLanes(pool, writes, { leaseMs, random }),
      maxItems: maxLaneWrites,
      // One batch at a time, so that a lane's release is written after its last result.
      maxInFlight: 1,
      maxWaiting: maxWaitingLaneWrites,
    }),
    abandonExpired: (lease, limit) => abandonExpired(pool, lease, limit, machineNow()),
    postponeWaiting: (lane) => postponeWaiting(pool, lane),
  };
}
