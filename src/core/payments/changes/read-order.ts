import { LockMode, raw } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import type { RefundRow } from '../../database/entities.ts';
import { OrderRow, PaymentAttemptRow, StrayPaymentRow } from '../../database/entities.ts';
import { attemptOf, orderOf } from '../../database/order-rows.ts';
import type { Environment, Order, OrderInFull } from '../../domain/order.ts';
import { isInFlight } from '../../domain/order.ts';

/*
 * The rows of an order: its own, those of its attempts, of its events, of its refunds and of its stray payments. Whoever changes any of
 * them locks the order's row first, so no two transactions wait for each other in a circle.
 */

/** Finds the row of one order and locks it until the transaction ends; undefined when there is none. */
export type LockOrder = (em: EntityManager) => Promise<OrderRow | undefined>;

/** Locks an order by its public id. */
export const orderOfId =
  ({ merchantId, environment, id }: Pick<Order, 'merchantId' | 'environment' | 'id'>): LockOrder =>
  (em) =>
    lockRow(em, { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) });

/**
 * Locks the order of an attempt, by the attempt's stored id. The order's id is read as a plain value, not as an entity.
 * Otherwise the ORM would reuse the entity from before the lock.
 */
export const orderOfAttempt =
  ({ merchantId, id }: Pick<PaymentAttemptRow, 'merchantId' | 'id'>): LockOrder =>
  async (em) => {
    const [found] = await em.execute<{ environment: Environment; order_id: StoredId<'ord'> }[]>(
      'select environment, order_id from core.payment_attempts where merchant_id = ? and id = ?',
      [merchantId, id],
    );
    if (found === undefined) return undefined;
    return lockRow(em, { merchantId, environment: found.environment, id: found.order_id });
  };

/** Locks an order by the merchant's own reference. */
export const orderOfNumber =
  ({
    merchantId,
    environment,
    orderNumber,
  }: Pick<Order, 'merchantId' | 'environment' | 'orderNumber'>): LockOrder =>
  (em) =>
    lockRow(em, { merchantId: storedId('mer', merchantId), environment, orderNumber });

/** Locks the order of a refund, by the refund's stored id. The order's id is a plain value here too. */
export const orderOfRefund =
  ({ merchantId, id }: Pick<RefundRow, 'merchantId' | 'id'>): LockOrder =>
  async (em) => {
    const [found] = await em.execute<{ environment: Environment; order_id: StoredId<'ord'> }[]>(
      'select environment, order_id from core.refunds where merchant_id = ? and id = ?',
      [merchantId, id],
    );
    if (found === undefined) return undefined;
    return lockRow(em, { merchantId, environment: found.environment, id: found.order_id });
  };

/** Locks the order of a stray payment, by the stray payment's stored id. */
export const orderOfStrayPayment =
  ({ merchantId, id }: Pick<StrayPaymentRow, 'merchantId' | 'id'>): LockOrder =>
  async (em) => {
    const [found] = await em.execute<{ environment: Environment; order_id: StoredId<'ord'> }[]>(
      'select environment, order_id from core.stray_payments where merchant_id = ? and id = ?',
      [merchantId, id],
    );
    if (found === undefined) return undefined;
    return lockRow(em, { merchantId, environment: found.environment, id: found.order_id });
  };

type OrderKey = Pick<OrderRow, 'merchantId' | 'environment'> &
  (Pick<OrderRow, 'id'> | Pick<OrderRow, 'orderNumber'>);

/**
 * Locks an order's row. Events are read in the order of transaction ids, and PostgreSQL may give a transaction its id while it
 * waits for a row. So changes of one order wait with an advisory lock, which gives no id, and then lock the row (ADR 4).
 */
async function lockRow(em: EntityManager, key: OrderKey): Promise<OrderRow | undefined> {
  const turn = raw((alias) => `pg_advisory_xact_lock(hashtextextended(${alias}.id::text, 0))::text`);
  const where = { ...key, [turn]: '' };
  return (await em.findOne(OrderRow, where, { lockMode: LockMode.PESSIMISTIC_WRITE })) ?? undefined;
}

/** The order of a row, with the facts about its attempts. */
export async function readOrder(em: EntityManager, row: OrderRow): Promise<OrderInFull> {
  const { merchantId, latestAttemptId: id } = row;
  const attempt = id == null ? null : await em.findOneOrFail(PaymentAttemptRow, { merchantId, id });
  const order = orderOf(row, attempt);
  return { ...order, ...(await readPast(em, row, order)) };
}

type Past = Pick<OrderInFull, 'earlierAttempts' | 'strayMoney'>;

/**
 * The facts about an order's earlier attempts. They stay true under the order's lock, because stray payments are
 * recorded under that lock. A completed reversal never becomes stray again.
 */
async function readPast(
  em: EntityManager,
  { merchantId, environment, id: orderId }: OrderRow,
  { attemptCount, latestAttempt }: Order,
): Promise<Past> {
  // A single attempt in flight has left no facts. So most orders need no further statement.
  if (latestAttempt === null || (attemptCount === 1 && isInFlight(latestAttempt)))
    return { earlierAttempts: [], strayMoney: [] };
  const attempts =
    attemptCount === 1
      ? []
      : await em.find(PaymentAttemptRow, { merchantId, orderId, environment }, { orderBy: { id: 'asc' } });
  const strays = await em.find(
    StrayPaymentRow,
    { merchantId, orderId, environment },
    { orderBy: { id: 'asc' } },
  );
  // Money that somebody sent with this order's reference, without a request of ours, does not keep others from paying.
  const ofAttempts = strays.flatMap(({ paymentAttemptId: id, ...stray }) =>
    id == null ? [] : [{ ...stray, attemptId: publicId('pat', id) }],
  );
  return {
    earlierAttempts: attempts.map(attemptOf).filter(({ id }) => id !== latestAttempt.id),
    strayMoney: ofAttempts.map(({ attemptId, amount, currency, status, createdAt }) => ({
      attemptId,
      amount,
      currency,
      status,
      foundAt: createdAt,
    })),
  };
}
