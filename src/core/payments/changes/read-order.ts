import { LockMode } from '@mikro-orm/postgresql';
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
  async (em) => {
    const key = { merchantId: storedId('mer', merchantId), environment, orderNumber };
    return (await em.findOne(OrderRow, key, { lockMode: LockMode.PESSIMISTIC_WRITE })) ?? undefined;
  };

/*
 * Refunds of one order often come together. Events are read in the order of transaction ids, and PostgreSQL may give a transaction
 * its id while it waits for a row. So refunds wait for their turn with an advisory lock, which gives no id, and lock the row then.
 */

/** Waits for the turn of a new refund at its order, which is then locked by the same name. */
export async function waitForTurn(
  em: EntityManager,
  merchantId: StoredId<'mer'>,
  environment: Environment,
  order: { readonly id: StoredId<'ord'> } | { readonly orderNumber: string },
): Promise<void> {
  const [column, value] = 'id' in order ? ['id', order.id] : ['order_number', order.orderNumber];
  await em.execute(
    `select pg_advisory_xact_lock(hashtextextended(id::text, 0)) from core.orders
     where merchant_id = ? and environment = ? and ${column} = ?`,
    [merchantId, environment, value],
  );
}

/** Locks the order of a refund, by the refund's stored id. The order's id is a plain value here too. */
export const orderOfRefund =
  ({ merchantId, id }: Pick<RefundRow, 'merchantId' | 'id'>): LockOrder =>
  async (em) => {
    const [found] = await em.execute<{ environment: Environment; order_id: StoredId<'ord'> }[]>(
      `select environment, order_id, pg_advisory_xact_lock(hashtextextended(order_id::text, 0))
       from core.refunds where merchant_id = ? and id = ?`,
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

async function lockRow(em: EntityManager, key: Pick<OrderRow, 'merchantId' | 'environment' | 'id'>) {
  return (await em.findOne(OrderRow, key, { lockMode: LockMode.PESSIMISTIC_WRITE })) ?? undefined;
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
