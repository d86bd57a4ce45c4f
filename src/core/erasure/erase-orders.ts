import type { Pool } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import type { Logger } from '../../platform/logger.ts';
import { erasePage } from './erase-page.ts';
import type { PageParts } from './erase-page.ts';
import type { ForgetPublished, PublishedEvent } from './forget-published.ts';
import type { Obstacle } from './obstacles.sql.ts';
import { readLastSequences } from './sealed-events.sql.ts';

export interface EraseParts extends PageParts {
  readonly database: { readonly pool: Pool };
  /** Removes events from the broker's store. */
  readonly forgetPublished: ForgetPublished;
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
  /** Why the other orders are not, by order. An order that was not reached before `stop` is in neither. */
  readonly obstacles: ReadonlyMap<StoredId<'ord'>, Obstacle>;
}

/** A page takes a fraction of a second. Core's event list waits for transactions that write, and an order can have very many events. */
const eventsInPage = 500;

/**
 * Erases the personal data of orders in every table, and then in the broker's store. An order that may still change is
 * not erased yet. An order with an event that differs from its seal is not erased either, because the erasure would hide the change.
 * An order with more than 500 events is erased by several transactions. Then its first events may be erased before an obstacle is found.
 *
 * The broker may be slow, so no lock is held while it removes events. The orders stay due until it has done so: the caller takes only those
 * in `erased` off the list. An erasure that ends in between is repeated, which removes the events again.
 */
export async function eraseOrders(
  parts: EraseParts,
  orders: OrdersToErase,
  stop: Pick<AbortSignal, 'aborted'>,
): Promise<Erasure> {
  const { erased, obstacles, published } = await eraseInDatabase(parts, orders, stop);
  if (await isForgotten(parts, published)) return { erased, obstacles };
  const waiting = erased.map((orderId) => [orderId, 'BROKER_UNAVAILABLE'] as const);
  return { erased: [], obstacles: new Map([...obstacles, ...waiting]) };
}

async function isForgotten(
  { forgetPublished, logger }: EraseParts,
  published: readonly PublishedEvent[],
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
  readonly published: readonly PublishedEvent[];
}

async function eraseInDatabase(
  parts: EraseParts,
  { merchantId, orderIds, requestedIds }: OrdersToErase,
  stop: Pick<AbortSignal, 'aborted'>,
): Promise<DatabaseErasure> {
  const erased: StoredId<'ord'>[] = [];
  const obstacles = new Map<StoredId<'ord'>, Obstacle>();
  const published = new Map<StoredId<'ord'>, PublishedEvent[]>();
  const sizes = await readLastSequences(parts.database.pool, merchantId, orderIds);
  for (const together of inGroups(orderIds, sizes))
    for (let left = together, after = 0; left.length > 0 && !stop.aborted; after += eventsInPage) {
      const range = { after, until: after + eventsInPage };
      const page = await erasePage(parts, { merchantId, orderIds: left, range, requestedIds });
      erased.push(...page.erased);
      for (const [orderId, obstacle] of page.obstacles) obstacles.set(orderId, obstacle);
      for (const [orderId, events] of page.published)
        published.set(orderId, (published.get(orderId) ?? []).concat(events));
      left = page.unfinished;
    }
  return { erased, obstacles, published: erased.flatMap((orderId) => published.get(orderId) ?? []) };
}

/** Orders that one transaction erases together: those with few events in total, or one order. */
function inGroups(
  orderIds: readonly StoredId<'ord'>[],
  sizes: ReadonlyMap<StoredId<'ord'>, number>,
): (readonly StoredId<'ord'>[])[] {
  const groups: StoredId<'ord'>[][] = [];
  let events = Infinity;
  for (const orderId of orderIds) {
    const size = sizes.get(orderId) ?? 0;
    events += size;
    if (events > eventsInPage) {
      groups.push([]);
      events = size;
    }
    groups.at(-1)?.push(orderId);
  }
  return groups;
}
