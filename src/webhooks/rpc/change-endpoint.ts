import type { Pool } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import type { NewId } from '../../contract/public-id.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { pauseLane, resumeLane } from '../delivery/pause-lane.ts';
import type { LaneKey } from '../domain/delivery.ts';

export interface EndpointChanges {
  /** Returns false when the endpoint does not exist. */
  readonly pause: (lane: LaneKey, reason: string, by: Actor) => Promise<boolean>;
  /** Returns false when the endpoint does not exist. */
  readonly resume: (lane: LaneKey, by: Actor) => Promise<boolean>;
}

export interface EndpointChangesParts {
  readonly pool: Pool;
  readonly newId: NewId;
  readonly now: () => Date;
}

/** Pauses and resumes endpoints, with an entry in the audit log for each change. */
export function createEndpointChanges({ pool, newId, now }: EndpointChangesParts): EndpointChanges {
  return {
    pause: (lane, reason, by) =>
      inTransaction(pool, [], async (client) => {
        const { merchantId, environment, endpoint } = lane;
        // The reason tells other users who paused it.
        const isPaused = await pauseLane(client, lane, reason === '' ? `${by.actor} gave no reason` : reason);
        if (!isPaused) return false;
        await recordAudit(client, newId, now(), by, {
          action: 'endpoint.pause',
          merchantId,
          targetId: endpoint,
          details: { environment, reason },
        });
        return true;
      }),
    resume: (lane, by) =>
      inTransaction(pool, [], async (client) => {
        const { merchantId, environment, endpoint } = lane;
        if (!(await resumeLane(client, lane))) return false;
        await recordAudit(client, newId, now(), by, {
          action: 'endpoint.resume',
          merchantId,
          targetId: endpoint,
          details: { environment },
        });
        return true;
      }),
  };
}
