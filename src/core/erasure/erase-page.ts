import type { Pool, PoolClient } from 'pg';
import { isPublicId, storedId } from '../../contract/public-id.ts';
import type { IdPrefix, StoredId } from '../../contract/public-id.ts';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { erasureSealOf } from '../audit/erasure-seal.ts';
import { commitmentOf, isSame, saltBytes } from '../audit/event-commitment.ts';
import { eraseEvent, readEvent } from './erase-event.ts';
import { eraseOrderRows, erasePartRows } from './erase-rows.sql.ts';
import type { PublishedEvent } from './forget-published.ts';
import { findObstacles, lockOrders } from './obstacles.sql.ts';
import type { Obstacle } from './obstacles.sql.ts';
import { readLastSequences, readSealedEvents } from './sealed-events.sql.ts';
import type { EventRange, SealedEvent } from './sealed-events.sql.ts';

export interface PageParts {
  readonly database: { readonly pool: Pool };
  /** The key of the seals of erasures. */
  readonly erasureKey: Buffer;
  readonly now: () => Date;
}

/** Some events of orders of one merchant. */
export interface PageToErase {
  readonly merchantId: StoredId<'mer'>;
  readonly orderIds: readonly StoredId<'ord'>[];
  readonly range: EventRange;
  /** Those of the orders whose erasure an operator requested. */
  readonly requestedIds: ReadonlySet<StoredId<'ord'>>;
}

export interface ErasedPage {
  /** Orders that have no later events. All their rows are erased. */
  readonly erased: readonly StoredId<'ord'>[];
  /** Orders that have later events. Their events in the range are erased. */
  readonly unfinished: readonly StoredId<'ord'>[];
  /** Why the other orders are not erased, by order. */
  readonly obstacles: ReadonlyMap<StoredId<'ord'>, Obstacle>;
  /** The events of the range, including those that an earlier erasure covers, by order. */
  readonly published: ReadonlyMap<StoredId<'ord'>, readonly PublishedEvent[]>;
}

/**
 * Erases, in one transaction, the events of orders in a range of sequences, with the payments and refunds that they name. The other rows of
 * an order are erased together with its last event.
 */
export function erasePage(
  parts: PageParts,
  { merchantId, orderIds, range, requestedIds }: PageToErase,
): Promise<ErasedPage> {
  return inTransaction(
    parts.database.pool,
    ["set local lock_timeout = '2s'", "set local gatehouse.erasing = 'on'"],
    async (client) => {
      await lockOrders(client, merchantId, orderIds);
      const last = await readLastSequences(client, merchantId, orderIds);
      const sealed = await readSealedEvents(client, merchantId, orderIds, range);
      const read = new Map([...sealed].map(([id, events]) => [id, readAll(events)]));
      const attemptIds = [...read.values()].flatMap(attemptsIn);
      const obstacles = new Map(await findObstacles(client, { merchantId, orderIds, attemptIds }));
      for (const orderId of orderIds) {
        const obstacle = obstacleIn(sealed.get(orderId) ?? []);
        if (obstacle !== undefined && !obstacles.has(orderId)) obstacles.set(orderId, obstacle);
      }
      const free = orderIds.filter((orderId) => !obstacles.has(orderId));
      const isFinished = (orderId: StoredId<'ord'>): boolean => (last.get(orderId) ?? 0) <= range.until;
      for (const orderId of free)
        await eraseOrder(client, parts, {
          merchantId,
          orderId,
          sealed: sealed.get(orderId) ?? [],
          events: read.get(orderId) ?? [],
          isRequested: requestedIds.has(orderId),
          isFinished: isFinished(orderId),
        });
      const erased = free.filter(isFinished);
      if (erased.length > 0) await replaceEndedOrdersVersion(client, merchantId);
      return {
        erased,
        unfinished: free.filter((orderId) => !isFinished(orderId)),
        obstacles,
        published: new Map(free.map((orderId) => [orderId, (sealed.get(orderId) ?? []).map(publishedOf)])),
      };
    },
  );
}

/** An order may have very many events, so their contents are not kept. */
const publishedOf = ({
  id,
  merchantId,
  environment,
  type,
  xid,
  position,
  occurredAt,
}: SealedEvent): PublishedEvent => ({ id, merchantId, environment, type, xid, position, occurredAt });

/** Facades then read the merchant's ended orders again. */
async function replaceEndedOrdersVersion(client: PoolClient, merchantId: StoredId<'mer'>): Promise<void> {
  await runStatement(client, {
    text: 'update core.merchants set ended_orders_version = gen_random_uuid() where id = $1',
    values: [merchantId],
  });
}

const readAll = (events: readonly SealedEvent[]): OrderEvent[] =>
  events.map(({ payload }) => readEvent(payload));

const idsIn = <P extends IdPrefix>(prefix: P, ids: readonly (string | undefined)[]): StoredId<P>[] => [
  ...new Set(ids.flatMap((id) => (id !== undefined && isPublicId(prefix, id) ? [storedId(prefix, id)] : []))),
];

const attemptsIn = (events: readonly OrderEvent[]): StoredId<'pat'>[] =>
  idsIn(
    'pat',
    events.map(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId),
  );

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
  /** Whether it has no later events. */
  readonly isFinished: boolean;
}

async function eraseOrder(
  client: PoolClient,
  parts: PageParts,
  { merchantId, orderId, sealed, events, isRequested, isFinished }: OneOrder,
): Promise<void> {
  const erased = sealed.flatMap((event, index) => {
    const message = events[index];
    return event.isErased || message === undefined ? [] : [{ ...event, payload: eraseEvent(message) }];
  });
  await replaceEvents(client, parts, erased);
  const attemptIds = attemptsIn(events);
  const refundIds = idsIn(
    'rfd',
    events.map(({ refund }) => refund?.refundId),
  );
  await erasePartRows(client, { merchantId, attemptIds, refundIds });
  const environment = sealed[0]?.environment;
  // An order without events is a finding of `audit verify`, and is not touched.
  if (!isFinished || environment === undefined) return;
  const orderNumber = events.findLast(({ order }) => order !== undefined)?.order?.orderNumber ?? '';
  await eraseOrderRows(client, { merchantId, orderId, environment, orderNumber, isRequested });
}

/** Stores successive events of an order without their personal data, and the seal of that. */
async function replaceEvents(
  client: PoolClient,
  { erasureKey, now }: PageParts,
  events: readonly SealedEvent[],
): Promise<void> {
  const [first, last] = [events.at(0), events.at(-1)];
  if (first === undefined || last === undefined) return;
  const { merchantId, orderId, environment } = first;
  const erasedAt = now();
  const range = {
    merchantId,
    orderId,
    fromSequence: first.sequence,
    toSequence: last.sequence,
    erasedAt,
  };
  await writeEvents(client, merchantId, orderId, events);
  await forgetSalts(client, merchantId, events);
  await runStatement(client, {
    text: `
insert into core.erased_orders (merchant_id, environment, order_id, from_sequence, to_sequence, erased_at, seal)
values ($1, $2, $3, $4, $5, $6, $7)`,
    values: [
      merchantId,
      environment,
      orderId,
      range.fromSequence,
      range.toSequence,
      erasedAt,
      erasureSealOf(erasureKey, range, events),
    ],
  });
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

/** Without its salt, nobody can find out by trying which values a commitment had. Each block is written once, also one that has all events. */
async function forgetSalts(
  client: PoolClient,
  merchantId: StoredId<'mer'>,
  events: readonly SealedEvent[],
): Promise<void> {
  const byBlock = Map.groupBy(
    events.flatMap(({ entries }) => entries),
    ({ block }) => block,
  );
  const blocks = await runStatement<{ number: string; salts: Buffer }>(client, {
    text: `
select number::text as number, salts from core.event_blocks
where merchant_id = $1 and number = any($2::bigint[]) order by number for update`,
    values: [merchantId, [...byBlock.keys()]],
  });
  for (const { number, salts } of blocks)
    for (const { ordinal } of byBlock.get(number) ?? [])
      salts.fill(0, ordinal * saltBytes, (ordinal + 1) * saltBytes);
  await runStatement(client, {
    text: `
update core.event_blocks b set salts = erased.salts
from unnest($2::bigint[], $3::bytea[]) as erased (number, salts)
where b.merchant_id = $1 and b.number = erased.number`,
    values: [merchantId, blocks.map(({ number }) => number), blocks.map(({ salts }) => salts)],
  });
}
