import type { EntityManager } from '@mikro-orm/postgresql';
import type { PaymentAttemptStatus } from '../domain/order.ts';
import { PaymentAttemptRow } from './order-entities.ts';

/**
 * All statuses of attempts. Each list is the condition of an index of attempts by their order: `payment_attempts_one_open`, and
 * `payment_attempts_failed_of_order`. PostgreSQL uses an index if a statement has its condition.
 */
const statusesOfIndexes: readonly (readonly PaymentAttemptStatus[])[] = [
  ['REQUESTED', 'SENT', 'UNKNOWN', 'SUCCEEDED'],
  ['DECLINED', 'TIMED_OUT'],
];

/** All attempts of orders, by the orders' stored ids, the oldest first. */
export async function findAttemptsOf(
  em: EntityManager,
  orders: readonly Pick<PaymentAttemptRow, 'merchantId' | 'environment' | 'orderId'>[],
): Promise<PaymentAttemptRow[]> {
  if (orders.length === 0) return [];
  const wanted = orders.flatMap((order) =>
    statusesOfIndexes.map((statuses) => ({ ...order, status: { $in: [...statuses] } })),
  );
  return em.find(PaymentAttemptRow, { $or: wanted }, { orderBy: { id: 'asc' } });
}
