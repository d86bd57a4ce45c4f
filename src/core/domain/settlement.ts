import type { Changed, OrderInFull, SettlementId, StrayPaymentId } from './order.ts';
import { type Result, err, ok } from './result.ts';
import type { CommandOf } from './transition.ts';
import { transition } from './transition.ts';

/*
 * The outcome that operators decide instead of a wallet. It takes the same path as a wallet's answer, so every rule of orders holds. The
 * events name the settlement.
 */

/** How long a proposal waits for another operator. */
export const proposalLifeMs = 24 * 60 * 60_000;

/**
 * Ends the order's undecided attempt. PAID completes the order with exactly its amount. Rejection: `decided` when the wallet has
 * decided the attempt, or never got its request.
 */
export function settleAttempt(
  order: OrderInFull,
  attemptId: CommandOf<'confirm_attempt'>['attemptId'],
  outcome: 'PAID' | 'NOT_PAID',
  settlementId: SettlementId,
  now: Date,
): Result<Changed, 'decided'> {
  const settled =
    outcome === 'PAID'
      ? transition(order, { type: 'confirm_attempt', attemptId, debited: order.amount }, now)
      : transition(order, { type: 'decline_attempt', attemptId, reason: 'settled_by_operator' }, now);
  if (!settled.ok) return err('decided');
  const { order: after, events } = settled.value;
  return ok({ order: after, events: events.map((event) => ({ ...event, settlementId })) });
}

/** Adds to the order's history that a stray payment was returned outside of Gatehouse. */
export function recordSettledStrayPayment(
  before: OrderInFull,
  strayPaymentId: StrayPaymentId,
  settlementId: SettlementId,
  now: Date,
): Changed {
  const sequence = before.lastEventSequence + 1;
  const order: OrderInFull = { ...before, lastEventSequence: sequence };
  const event = {
    type: 'STRAY_PAYMENT_SETTLED' as const,
    sequence,
    occurredAt: now,
    previousStatus: before.status,
    order,
    attempt: null,
    strayPaymentId,
    settlementId,
  };
  return { order, events: [event] };
}
