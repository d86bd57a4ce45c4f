import type { EntityManager } from '@mikro-orm/postgresql';
import { OrderEventRow, PaymentAttemptRow } from '../../database/entities.ts';
import type { OrderRow } from '../../database/entities.ts';
import { attemptValuesOf, newAttemptSchedule, orderValuesOf } from '../../database/order-rows.ts';
import type { Order, PaymentAttempt } from '../../domain/order.ts';
import type { PromptPlace } from '../../domain/prompt-allowance.ts';
import type { OrderEventValues } from './order-event-values.ts';

/** The rows that a change writes besides the order. */
export interface ChangeRows {
  readonly events: readonly OrderEventValues[];
  /** The prompt of a new attempt. */
  readonly prompt: { readonly network: string | null; readonly place: PromptPlace } | undefined;
}

/** Writes a changed order with its latest attempt and its new events. */
export async function writeOrder(
  em: EntityManager,
  row: OrderRow,
  before: Order,
  order: Order,
  { events, prompt }: ChangeRows,
): Promise<void> {
  const attempt = order.latestAttempt;
  if (attempt !== null && attempt !== before.latestAttempt) {
    if (attempt.origin === 'PAYER') em.create(PaymentAttemptRow, attemptValuesOf(order, attempt));
    else await writeAttempt(em, order, attempt, prompt);
  }
  em.assign(row, orderValuesOf(order));
  const { merchantId, environment, id: orderId } = row;
  for (const event of events) em.create(OrderEventRow, { merchantId, environment, orderId, ...event });
}

const final = new Set<PaymentAttempt['status']>(['SUCCEEDED', 'DECLINED', 'TIMED_OUT']);

async function writeAttempt(
  em: EntityManager,
  order: Order,
  attempt: PaymentAttempt,
  prompt: ChangeRows['prompt'],
): Promise<void> {
  const values = attemptValuesOf(order, attempt);
  if (prompt !== undefined) {
    const { network, place: promptPlace } = prompt;
    const schedule = newAttemptSchedule(attempt.createdAt);
    em.create(PaymentAttemptRow, { ...values, ...schedule, network, promptPlace });
    return;
  }
  const { merchantId, id } = values;
  const existing = await em.findOneOrFail(PaymentAttemptRow, { merchantId, id });
  em.assign(existing, final.has(attempt.status) ? { ...values, dueAt: null, leasedUntil: null } : values);
}
