import type { EntityManager } from '@mikro-orm/postgresql';
import { PaymentAttemptRow } from '../../database/order-entities.ts';
import { attemptValuesOf, newAttemptSchedule } from '../../database/order-rows.ts';
import type { Order, OrderInFull, PaymentAttempt } from '../../domain/order.ts';
import type { NewAttempt } from './order-change.ts';

/**
 * Writes the latest attempt of a changed order, and the one before it, if they have changed. Creates the row of a new attempt of a payer, or
 * of an adopted one. `writeOrders` inserts the other new attempts.
 */
export async function writeLatestAttempt(
  em: EntityManager,
  before: Order,
  order: OrderInFull,
  {
    prompted,
    adopted,
  }: { readonly prompted: NewAttempt | undefined; readonly adopted: NewAttempt | undefined },
): Promise<void> {
  const attempt = order.latestAttempt;
  if (attempt === null || attempt === before.latestAttempt) return;
  const previous = order.earlierAttempts.find(({ id }) => id === before.latestAttempt?.id);
  if (previous !== undefined && previous !== before.latestAttempt) {
    await writeAttempt(em, order, previous);
    // Only one attempt of an order may be open or paid in the table, and inserts would come first.
    await em.flush();
  }
  if (prompted !== undefined) return;
  if (adopted !== undefined)
    em.create(PaymentAttemptRow, { ...adopted, ...newAttemptSchedule(adopted.createdAt) });
  else if (attempt.origin === 'PAYER') em.create(PaymentAttemptRow, attemptValuesOf(order, attempt));
  else await writeAttempt(em, order, attempt);
}

const final = new Set<PaymentAttempt['status']>(['SUCCEEDED', 'DECLINED', 'TIMED_OUT']);

async function writeAttempt(em: EntityManager, order: Order, attempt: PaymentAttempt): Promise<void> {
  const values = attemptValuesOf(order, attempt);
  const { merchantId, id } = values;
  const existing = await em.findOneOrFail(PaymentAttemptRow, { merchantId, id });
  em.assign(existing, final.has(attempt.status) ? { ...values, dueAt: null, leasedUntil: null } : values);
}
