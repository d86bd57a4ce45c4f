import type { Pool, PoolClient } from 'pg';
import { isPublicId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Logger } from '../../platform/logger.ts';
import { erasureSealOf } from '../audit/erasure-seal.ts';
import { commitmentOf, isSame, saltBytes } from '../audit/event-commitment.ts';
import { eraseEvent, readEvent } from './erase-event.ts';
import { eraseRows } from './erase-rows.sql.ts';
import type { ForgetPublished } from './forget-published.ts';
import { findObstacles, lockOrders } from './obstacles.sql.ts';
import type { Obstacle } from './obstacles.sql.ts';
import { readSealedEvents } from './sealed-events.sql.ts';
import type { SealedEvent } from './sealed-events.sql.ts';

export interface EraseParts {
  readonly database: { readonly pool: Pool };
  /** The key of the seals of erasures. */
  readonly erasureKey: Buffer;
  /** Removes events from the broker's store. */
  readonly forgetPublished: ForgetPublished;
  readonly now: () => Date;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Orders of one merchant. */
export interface OrdersToErase {
  readonly merchantId: StoredId<'mer'>;
  readonly orderIds: readonly StoredId<'ord'>[];
  /** The orders among them whose erasure an operator requested. Only for these are answers to idempotency keys searched. */
  readonly requestedIds: ReadonlySet<StoredId<'ord'>>;
}

export interface Erasure {
  /** Erased in every table and in the broker's store. */
  readonly erased: readonly StoredId<'ord'>[];
  /** Why the other orders are not, by order. */
  readonly obstacles: ReadonlyMap<StoredId<'ord'>, Obstacle>;
}

/**
 * Erases the personal data of orders in every table, in one transaction, and then in the broker's store. An order that may still change is
 * not erased yet. An order with an event that differs from its seal is not erased either, because the erasure would hide the change.
 *
 * The broker may be slow, so no lock is held while it removes events. The orders stay due until it has done so: the caller takes only those
 * in `erased` off the list. An erasure that ends in between is repeated, which removes the events again.
 */
export async function eraseOrders(parts: EraseParts, orders: OrdersToErase): Promise<Erasure> {
  const { erased, obstacles, published } = await eraseInDatabase(parts, orders);
  if (await isForgotten(parts, published)) return { erased, obstacles };
  const waiting = erased.map((orderId) => [orderId, 'BROKER_UNAVAILABLE'] as const);
  return { erased: [], obstacles: new Map([...obstacles, ...waiting]) };
}

async function isForgotten(
  { forgetPublished, logger }: EraseParts,
  published: readonly SealedEvent[],
): Promise<boolean> {
  try {
    return await forgetPublished(published);
  } catch (error) {
    logger.warn(
      { err: error },
      'the broker did not remove events of erased orders; core tries again in a minute',
    );
    return false;
  }
}

interface DatabaseErasure extends Erasure {
  /** All events of the erased orders, including those that an earlier erasure covers. */
  readonly published: readonly SealedEvent[];
}

function eraseInDatabase(
  parts: EraseParts,
  { merchantId, orderIds, requestedIds }: OrdersToErase,
): Promise<DatabaseErasure> {
  return inTransaction(
    parts.database.pool,
    ["set local lock_timeout = '2s'", "set local gatehouse.erasing = 'on'"],
    async (client) => {
      await lockOrders(client, merchantId, orderIds);
      const sealed = await readSealedEvents(client, merchantId, orderIds);
      const read = new Map([...sealed].map(([id, events]) => [id, readAll(events)]));
      const attemptIds = [...read.values()].flatMap(attemptsIn);
      const obstacles = new Map(await findObstacles(client, { merchantId, orderIds, attemptIds }));
      for (const orderId of orderIds) {
        const obstacle = obstacleIn(sealed.get(orderId) ?? []);
        if (obstacle !== undefined && !obstacles.has(orderId)) obstacles.set(orderId, obstacle);
      }
      const erased = orderIds.filter((orderId) => !obstacles.has(orderId));
      for (const orderId of erased)
        await eraseOrder(client, parts, {
          merchantId,
          orderId,
          sealed: sealed.get(orderId) ?? [],
          events: read.get(orderId) ?? [],
          isRequested: requestedIds.has(orderId),
        });
      if (erased.length > 0) await replaceEndedOrdersVersion(client, merchantId);
      const published = erased.flatMap((orderId) => sealed.get(orderId) ?? []);
      return { erased, obstacles, published };
    },
  );
}

/** Facades then read the merchant's ended orders again. */
async function replaceEndedOrdersVersion(client: PoolClient, merchantId: StoredId<'mer'>): Promise<void> {
  await runStatement(client, {
    text: 'update core.merchants set ended_orders_version = gen_random_uuid() where id = $1',
    values: [merchantId],
  });
}

const readAll = (events: readonly SealedEvent[]): OrderEvent[] =>
  events.map(({ payload }) => readEvent(payload));

const attemptsIn = (events: readonly OrderEvent[]): StoredId<'pat'>[] => [
  ...new Set(
    events.flatMap(({ paymentAttempt }) => {
      const id = paymentAttempt?.paymentAttemptId ?? '';
      return isPublicId('pat', id) ? [storedId('pat', id)] : [];
    }),
  ),
];

function obstacleIn(events: readonly SealedEvent[]): Obstacle | undefined {
  const open = events.filter(({ isErased }) => !isErased);
  if (open.some(({ entries }) => entries.length === 0)) return 'NOT_SEALED';
  const isUnchanged = open.every(({ entries, ...event }) =>
    entries.some(({ salt, commitment }) => isSame(commitmentOf(salt, event), commitment)),
  );
  return isUnchanged ? undefined : 'EVENT_CHANGED';
}

interface OneOrder {
  readonly merchantId: StoredId<'mer'>;
  readonly orderId: StoredId<'ord'>;
  /** Its events in order, as stored and as read. */
  readonly sealed: readonly SealedEvent[];
  readonly events: readonly OrderEvent[];
  readonly isRequested: boolean;
}

async function eraseOrder(
  client: PoolClient,
  { erasureKey, now }: EraseParts,
  { merchantId, orderId, sealed, events, isRequested }: OneOrder,
): Promise<void> {
  const at = now();
  const erased = sealed.flatMap((event, index) => {
    const message = events[index];
    return event.isErased || message === undefined ? [] : [{ ...event, payload: eraseEvent(message) }];
  });
  const [first, last] = [erased.at(0), erased.at(-1)];
  if (first !== undefined && last !== undefined) {
    await writeEvents(client, merchantId, orderId, erased);
    await forgetSalts(client, merchantId, erased);
    const range = {
      merchantId,
      orderId,
      fromSequence: first.sequence,
      toSequence: last.sequence,
      erasedAt: at,
    };
    await runStatement(client, {
      text: `
insert into core.erased_orders (merchant_id, environment, order_id, from_sequence, to_sequence, erased_at, seal)
values ($1, $2, $3, $4, $5, $6, $7)`,
      values: [
        merchantId,
        first.environment,
        orderId,
        range.fromSequence,
        range.toSequence,
        at,
        erasureSealOf(erasureKey, range, erased),
      ],
    });
  }
  const environment = sealed[0]?.environment;
  // An order without events is a finding of `audit verify`, and is not touched.
  if (environment === undefined) return;
  const orderNumber = events.findLast(({ order }) => order !== undefined)?.order?.orderNumber ?? '';
  const attemptIds = attemptsIn(events);
  await eraseRows(client, { merchantId, orderId, environment, orderNumber, attemptIds, isRequested });
}

async function writeEvents(
  client: PoolClient,
  merchantId: StoredId<'mer'>,
  orderId: StoredId<'ord'>,
  events: readonly SealedEvent[],
): Promise<void> {
  await runStatement(client, {
    text: `
update core.order_events e set payload = erased.payload
from unnest($3::integer[], $4::bytea[]) as erased (sequence, payload)
where e.merchant_id = $1 and e.order_id = $2 and e.sequence = erased.sequence`,
    values: [
      merchantId,
      orderId,
      events.map(({ sequence }) => sequence),
      events.map(({ payload }) => payload),
    ],
  });
}

/** Without its salt, nobody can find out by trying which values a commitment had. */
async function forgetSalts(
  client: PoolClient,
  merchantId: StoredId<'mer'>,
  events: readonly SealedEvent[],
): Promise<void> {
  for (const { block, ordinal } of events.flatMap(({ entries }) => entries))
    await runStatement(client, {
      text: `
update core.event_blocks set salts = overlay(salts placing $3 from $4 for ${saltBytes})
where merchant_id = $1 and number = $2`,
      values: [merchantId, block, Buffer.alloc(saltBytes), ordinal * saltBytes + 1],
    });
}
