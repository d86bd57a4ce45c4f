import type { EntityManager } from '@mikro-orm/postgresql';
import { PaymentAttemptRow } from '../../database/order-entities.ts';
import { attemptValuesOf, newAttemptSchedule } from '../../database/order-rows.ts';
import type { Order, OrderInFull, PaymentAttempt } from '../../domain/order.ts';
import type { PromptKind } from '../../domain/prompt-allowance.ts';

/** The prompt of a new attempt. */
export interface NewPrompt {
  readonly network: string | null;
  readonly kind: PromptKind;
}

/** Writes the latest attempt of a changed order, and the one before it, if they are new or have changed. */
export async function writeLatestAttempt(
  em: EntityManager,
  before: Order,
  order: OrderInFull,
  prompt: NewPrompt | undefined,
): Promise<void> {
  const attempt = order.latestAttempt;
  if (attempt === null || attempt === before.latestAttempt) return;
  const previous = order.earlierAttempts.find(({ id }) => id === before.latestAttempt?.id);
  if (previous !== undefined && previous !== before.latestAttempt) {
    await writeAttempt(em, order, previous, undefined);
    // Only one attempt of an order may be open or paid in the table, and inserts would come first.
    await em.flush();
  }
  if (attempt.origin === 'PAYER') em.create(PaymentAttemptRow, attemptValuesOf(order, attempt));
  else await writeAttempt(em, order, attempt, prompt);
}

const final = new Set<PaymentAttempt['status']>(['SUCCEEDED', 'DECLINED', 'TIMED_OUT']);

async function writeAttempt(
  em: EntityManager,
  order: Order,
  attempt: PaymentAttempt,
  prompt: NewPrompt | undefined,
): Promise<void> {
  const values = attemptValuesOf(order, attempt);
  if (prompt !== undefined) {
    const { network, kind: promptKind } = prompt;
    const schedule = newAttemptSchedule(attempt.createdAt);
    em.create(PaymentAttemptRow, { ...values, ...schedule, network, promptKind });
    return;
  }
  const { merchantId, id } = values;
  const existing = await em.findOneOrFail(PaymentAttemptRow, { merchantId, id });
  em.assign(existing, final.has(attempt.status) ? { ...values, dueAt: null, leasedUntil: null } : values);
}
