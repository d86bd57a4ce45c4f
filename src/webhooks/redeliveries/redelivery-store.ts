import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { lowestStoredIdAt, publicId } from '../../contract/public-id.ts';
import type { NewId } from '../../contract/public-id.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import type { DeliveryState, Environment } from '../domain/delivery.ts';
import { hastenWaiting, makePending } from './make-pending.sql.ts';
import type { OrderedDelivery } from './make-pending.sql.ts';
import { atMost } from '../../platform/at-most.ts';

/** A background job that sends deliveries again. */
export interface Redelivery {
  readonly id: string;
  readonly merchantId: string;
  readonly environment: Environment;
  readonly createdFrom: Date;
  readonly createdTo: Date;
  readonly states: readonly DeliveryState[];
  readonly createdAt: Date;
  /** When the job had made all of them pending. */
  readonly endedAt: Date | null;
  readonly redeliveredCount: bigint;
  readonly pendingCount: bigint;
  readonly deliveredCount: bigint;
  readonly givenUpCount: bigint;
}

export interface RedeliveryRequest {
  readonly merchantId: string;
  readonly environment: Environment;
  readonly createdFrom: Date;
  /** Now when undefined. */
  readonly createdTo: Date | undefined;
  readonly states: readonly DeliveryState[];
}

export interface RedeliveryStore {
  /** Makes one delivery due now, with a whole new schedule, and those of its order that wait for it. */
  readonly redeliver: (
    merchantId: string,
    deliveryId: string,
    by: Actor,
  ) => Promise<'redelivered' | 'not_found' | 'endpoint_deleted'>;
  /** Starts a redelivery. Returns undefined while another one of the same merchant and environment runs. */
  readonly start: (request: RedeliveryRequest, by: Actor) => Promise<Redelivery | undefined>;
  /** Counts the deliveries. Those of a large redelivery are counted once in two seconds, and its state is as old as the counts. */
  readonly find: (merchantId: string, redeliveryId: string) => Promise<Redelivery | undefined>;
}

const findDelivery = `
select id, merchant_id as "merchantId", environment, endpoint, order_id as "orderId", sequence::text as sequence
from webhooks.deliveries where merchant_id = $1 and id = $2`;

const insert = `
insert into webhooks.redeliveries (merchant_id, id, environment, created_from, created_to, states, after_id, created_at)
values ($1, $2, $3, $4, $5, $6::webhooks.delivery_state[], $7, $8)
on conflict (merchant_id, environment) where ended_at is null do nothing
returning id`;

// A delivery that a later redelivery made pending again is counted there.
const find = `
select r.id, r.merchant_id as "merchantId", r.environment, r.created_from as "createdFrom", r.created_to as "createdTo",
  r.states::text[] as states, r.created_at as "createdAt", r.ended_at as "endedAt",
  r.redelivered_count as redelivered, counted.*
from webhooks.redeliveries r, lateral (
  select count(*) filter (where state = 'PENDING') as pending,
    count(*) filter (where state = 'DELIVERED') as delivered,
    count(*) filter (where state = 'GIVEN_UP') as given_up
  from webhooks.deliveries d where d.merchant_id = r.merchant_id and d.redelivery_id = r.id
) counted
where r.merchant_id = $1 and r.id = $2`;

interface FoundRow {
  readonly id: string;
  readonly merchantId: string;
  readonly environment: Environment;
  readonly createdFrom: Date;
  readonly createdTo: Date;
  readonly states: DeliveryState[];
  readonly createdAt: Date;
  readonly endedAt: Date | null;
  readonly redelivered: string;
  readonly pending: string;
  readonly delivered: string;
  readonly given_up: string;
}

/** Ids contain the time of the creating process's clock, and created_at is the database's time. They may differ. */
const clocksDifferMs = 24 * 60 * 60 * 1000;

/** A lower bound for the ids of deliveries that were created at `at` or later. */
export const deliveryIdBefore = (at: Date): string =>
  publicId('whd', lowestStoredIdAt(new Date(at.getTime() - clocksDifferMs)));

/** An upper bound for the ids of deliveries that were created before `at`. */
export const deliveryIdAfter = (at: Date): string =>
  publicId('whd', lowestStoredIdAt(new Date(at.getTime() + clocksDifferMs)));

/** Counting reads every delivery: 10 ms of CPU for a thousand. So a client that asks again and again could slow down all webhooks. */
const countedEveryTime = 1_000;
const countedEveryMs = 2_000;
const maxRemembered = 100;

export interface RedeliveryStoreParts {
  readonly pool: Pool;
  readonly newId: NewId;
  readonly now: () => Date;
}

export function createRedeliveryStore({ pool, newId, now }: RedeliveryStoreParts): RedeliveryStore {
  const read = async (merchantId: string, redeliveryId: string): Promise<Redelivery | undefined> => {
    const [row] = await runStatement<FoundRow & Record<string, unknown>>(pool, {
      text: find,
      values: [merchantId, redeliveryId],
    });
    return row === undefined ? undefined : redeliveryOf(row);
  };
  const counted = new LRUCache<string, Redelivery>({ ...atMost(maxRemembered), ttl: countedEveryMs });
  return {
    async redeliver(merchantId, deliveryId, by) {
      const [delivery] = await runStatement<OrderedDelivery & Record<string, unknown>>(pool, {
        text: findDelivery,
        values: [merchantId, deliveryId],
      });
      if (delivery === undefined) return 'not_found';
      const isMade = await inTransaction(pool, [], async (client) => {
        if ((await makePending(client, merchantId, [delivery])) === 0) return false;
        const { environment, endpoint } = delivery;
        await recordAudit(client, newId, now(), by, {
          action: 'delivery.redeliver',
          merchantId,
          targetId: deliveryId,
          details: { environment, endpoint },
        });
        return true;
      });
      if (!isMade) return 'endpoint_deleted';
      let after: string | undefined = delivery.sequence;
      while (after !== undefined) {
        const waiting: OrderedDelivery = { ...delivery, sequence: after };
        after = await inTransaction(pool, [], (client) => hastenWaiting(client, waiting));
      }
      return 'redelivered';
    },

    async start({ merchantId, environment, createdFrom, createdTo, states }, by) {
      const at = now();
      const id = newId('whr', at);
      const to = createdTo ?? at;
      const started = await inTransaction(pool, [], async (client) => {
        const rows = await runStatement(client, {
          text: insert,
          values: [
            merchantId,
            id,
            environment,
            createdFrom,
            to,
            [...states],
            deliveryIdBefore(createdFrom),
            at,
          ],
        });
        if (rows.length === 0) return false;
        await recordAudit(client, newId, at, by, {
          action: 'redelivery.start',
          merchantId,
          targetId: id,
          details: {
            environment,
            create_time_from: createdFrom.toISOString(),
            create_time_to: to.toISOString(),
            states: states.join(', '),
          },
        });
        return true;
      });
      return started ? read(merchantId, id) : undefined;
    },

    async find(merchantId, redeliveryId) {
      const key = `${merchantId} ${redeliveryId}`;
      const known = counted.get(key);
      if (known !== undefined) return known;
      const found = await read(merchantId, redeliveryId);
      if (found !== undefined && found.redeliveredCount > countedEveryTime) counted.set(key, found);
      return found;
    },
  };
}

function redeliveryOf({ redelivered, pending, delivered, given_up: givenUp, ...row }: FoundRow): Redelivery {
  return {
    ...row,
    redeliveredCount: BigInt(redelivered),
    pendingCount: BigInt(pending),
    deliveredCount: BigInt(delivered),
    givenUpCount: BigInt(givenUp),
  };
}
