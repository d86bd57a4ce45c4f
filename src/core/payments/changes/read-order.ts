import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { OrderRow, RefundRow } from '../../database/entities.ts';
import { PaymentAttemptRow, StrayPaymentRow } from '../../database/entities.ts';
import { attemptOf, orderOf } from '../../database/order-rows.ts';
import type { Order, OrderInFull } from '../../domain/order.ts';
import { isInFlight } from '../../domain/order.ts';
import { lockFreeOrders, lockFreeOrdersOfAttempts, lockOrder, lockOrderOf } from './lock-order.sql.ts';

/*
 * The rows of an order: its own, those of its attempts, of its events, of its refunds and of its stray payments. Every change of
 * any of them locks the order's row first, so no two transactions wait for each other in a circle.
 */

/** Finds the row of one order and locks it until the transaction ends; undefined when there is none. */
export type LockOrder = (em: EntityManager) => Promise<OrderRow | undefined>;

/** Locks an order by its public id. */
export const orderOfId =
  ({ merchantId, environment, id }: Pick<Order, 'merchantId' | 'environment' | 'id'>): LockOrder =>
  (em) =>
    lockOrder(em, { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) });

/** Finds and locks orders by one kind of name. */
export interface OrderLock<Name> {
  readonly one: (name: Name) => LockOrder;
  /** Locks those that no other transaction holds, without waiting; undefined in place of the others. */
  readonly free: (em: EntityManager, names: readonly Name[]) => Promise<(OrderRow | undefined)[]>;
}

/** By their public ids. */
export const byOrderId: OrderLock<Pick<Order, 'merchantId' | 'environment' | 'id'>> = {
  one: (name) => orderOfId(name),
  free: (em, names) =>
    lockFreeOrders(
      em,
      names.map(({ merchantId, environment, id }) => ({
        merchantId: storedId('mer', merchantId),
        environment,
        id: storedId('ord', id),
      })),
    ),
};

/** By the stored ids of their attempts. */
export const byAttempt: OrderLock<Pick<PaymentAttemptRow, 'merchantId' | 'id'>> = {
  one: (attempt) => orderOfAttempt(attempt),
  free: lockFreeOrdersOfAttempts,
};

/** Locks an order by the merchant's own reference. */
export const orderOfNumber =
  ({
    merchantId,
    environment,
    orderNumber,
  }: Pick<Order, 'merchantId' | 'environment' | 'orderNumber'>): LockOrder =>
  (em) =>
    lockOrder(em, { merchantId: storedId('mer', merchantId), environment, orderNumber });

/** Locks the order of an attempt, by the attempt's stored id. */
export const orderOfAttempt =
  (attempt: Pick<PaymentAttemptRow, 'merchantId' | 'id'>): LockOrder =>
  (em) =>
    lockOrderOf(em, 'payment_attempts', attempt);

/** Locks the order of a refund, by the refund's stored id. */
export const orderOfRefund =
  (refund: Pick<RefundRow, 'merchantId' | 'id'>): LockOrder =>
  (em) =>
    lockOrderOf(em, 'refunds', refund);

/** Locks the order of a stray payment, by the stray payment's stored id. */
export const orderOfStrayPayment =
  (stray: Pick<StrayPaymentRow, 'merchantId' | 'id'>): LockOrder =>
  (em) =>
    lockOrderOf(em, 'stray_payments', stray);

/** Reads the latest attempts of several orders at once, so that reading each order needs no further statement. */
export async function readLatestAttempts(em: EntityManager, rows: readonly OrderRow[]): Promise<void> {
  const keys = rows.flatMap(({ merchantId, latestAttemptId: id }) =>
    id == null ? [] : [{ merchantId, id }],
  );
  if (keys.length > 1) await em.find(PaymentAttemptRow, { $or: keys });
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
