import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { OrderRow, PaymentAttemptRow, StrayPaymentRow } from '../../database/entities.ts';
import { attemptOf, orderOf } from '../../database/order-rows.ts';
import type { Environment, Order, OrderInFull } from '../../domain/order.ts';
import { isInFlight } from '../../domain/order.ts';

/*
 * The rows of an order: its own, those of its attempts, of its events and of its stray payments. Whoever changes any of
 * them locks the order's row first, so no two transactions wait for each other in a circle.
 */

/** Finds the row of one order and locks it until the transaction ends; undefined when there is none. */
export type LockOrder = (em: EntityManager) => Promise<OrderRow | undefined>;

/** The order's own row; ids as they are shown. */
export const orderOfId =
  ({ merchantId, environment, id }: Pick<Order, 'merchantId' | 'environment' | 'id'>): LockOrder =>
  (em) =>
    lockRow(em, { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) });

/**
 * The row of an attempt's order; ids as they are stored. Which order that is, is read as plain values, not as an entity:
 * the ORM would keep what it read before the lock and not read it again under the lock.
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

async function lockRow(em: EntityManager, key: Pick<OrderRow, 'merchantId' | 'environment' | 'id'>) {
  return (await em.findOne(OrderRow, key, { lockMode: LockMode.PESSIMISTIC_WRITE })) ?? undefined;
}

/** The order of a row with everything that its attempts left behind. */
export async function readOrder(em: EntityManager, row: OrderRow): Promise<OrderInFull> {
  const { merchantId, latestAttemptId: id } = row;
  const attempt = id == null ? null : await em.findOneOrFail(PaymentAttemptRow, { merchantId, id });
  const order = orderOf(row, attempt);
  return { ...order, ...(await readPast(em, row, order)) };
}

type Past = Pick<OrderInFull, 'earlierAttempts' | 'strayMoney'>;

/**
 * What an order's attempts left behind. Under the order's lock it stays true: stray money is recorded under that lock, and
 * money that is back with the payer never becomes stray again.
 */
async function readPast(
  em: EntityManager,
  { merchantId, environment, id: orderId }: OrderRow,
  { attemptCount, latestAttempt }: Order,
): Promise<Past> {
  // An order's only attempt has left nothing while it runs: most orders cost no further statement.
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
  return {
    earlierAttempts: attempts.map(attemptOf).filter(({ id }) => id !== latestAttempt.id),
    strayMoney: strays.map(({ paymentAttemptId, amount, currency, status, createdAt }) => ({
      attemptId: publicId('pat', paymentAttemptId),
      amount,
      currency,
      status,
      foundAt: createdAt,
    })),
  };
}
