import { isDataRefused } from '../../platform/database/explain-error.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { Database } from '../database/database.ts';
import type { OutgoingDelivery } from '../domain/delivery.ts';
import { claimLanes } from './claim-lanes.sql.ts';
import type { ClaimRequest, Claimed } from './claim-lanes.sql.ts';
import { giveUpOutlived } from './give-up-outlived.sql.ts';
import { renewLeases } from './renew-leases.sql.ts';
import type { HeldLease } from './renew-leases.sql.ts';
import { settleLanes } from './settle-lanes.ts';
import type { Settled, Settlement } from './settle-lanes.ts';
import { takeHeads } from './take-heads.sql.ts';
import type { HeadRequest } from './take-heads.sql.ts';

/** How many results one transaction writes. One that waits for another's commit waits with all that came meanwhile. */
const maxSettlements = 500;
/** More than there can be: as many as a process may have on their way, and a release for each of its lanes. */
const maxWaitingSettlements = 100_000;

/**
 * Lanes and their deliveries, for who sends them. Leases and due times count by the database's clock. Rejects when the
 * database does; nothing of what was asked for is done then, or all of it.
 */
export interface DeliveryStore {
  readonly leaseMs: number;
  /** Takes lanes that are due, with their first deliveries. */
  readonly claim: (request: Omit<ClaimRequest, 'leaseId' | 'leaseMs'>) => Promise<Claimed>;
  /** Reads more deliveries of held lanes. Lanes that are left out of the answer are not ours, or paused. */
  readonly take: (
    requests: readonly HeadRequest[],
  ) => Promise<ReadonlyMap<string, readonly OutgoingDelivery[]>>;
  /** Holds lanes for longer. Lanes that are left out of the answer are not ours. */
  readonly renew: (
    leases: readonly HeldLease[],
  ) => Promise<ReadonlyMap<string, { readonly isPaused: boolean }>>;
  /** Writes an attempt's outcome, gives up a lane, or both; together with what others write at the same time. */
  readonly settle: (settlement: Settlement, signal: AbortSignal) => Promise<Settled>;
  /** Gives up deliveries of a held lane that outlived their round without their turn. Gives how many, `limit` at most. */
  readonly giveUpOutlived: (lease: HeldLease, limit: number) => Promise<number>;
}

export interface DeliveryStoreParts {
  readonly database: Pick<Database, 'pool'>;
  /** A UUID. */
  readonly newLeaseId: () => string;
  readonly random: () => number;
  /** How long a lane stays with a process that says nothing more. Longer than an attempt may take. */
  readonly leaseMs: number;
}

export function createDeliveryStore(parts: DeliveryStoreParts): DeliveryStore {
  const { newLeaseId, random, leaseMs } = parts;
  const { pool } = parts.database;
  return {
    leaseMs,
    claim: (request) => claimLanes(pool, { ...request, leaseId: newLeaseId(), leaseMs }),
    take: (requests) => takeHeads(pool, requests),
    renew: (leases) => renewLeases(pool, leases, leaseMs),
    settle: createBatcher<Settlement, Settled>({
      isOneItemsFault: isDataRefused,
      run: (settlements) => settleLanes(pool, settlements, { leaseMs, random }),
      maxItems: maxSettlements,
      // A lane's release comes after its last result.
      maxInFlight: 1,
      maxWaiting: maxWaitingSettlements,
    }),
    giveUpOutlived: (lease, limit) => giveUpOutlived(pool, lease, limit),
  };
}
