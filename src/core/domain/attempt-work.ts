import type { Changed, Order, OrderInFull, PaymentAttempt } from './order.ts';
import { followedBy, isInFlight, moneyNotReturned } from './order.ts';
import { type Result, err, ok } from './result.ts';
import { transition } from './transition.ts';

/*
 * The work on a payment attempt. A worker leases a due attempt, calls the wallet, and reports the wallet's answer under its
 * lease. The order decides the attempt's next state. This file and wallet-outcome.ts decide when to call the wallet, and
 * whether the first request may still be sent.
 */

/** An attempt with the facts that a worker needs. It may be an earlier attempt of its order. */
export interface AttemptWork {
  readonly attempt: PaymentAttempt;
  /** When the next call of the wallet is due; null when none is. */
  readonly dueAt: Date | null;
  /** The latest lease. It is kept after its report, so that the report can be repeated. */
  readonly leaseId: string | null;
  /** The expiry of the latest lease; null after its report. */
  readonly leasedUntil: Date | null;
  /** How often the attempt has been leased. */
  readonly leases: number;
  /** Whether the request for the payment may have reached the wallet. */
  readonly maybeSent: boolean;
  /** The end of the payer's prompt; null for attempts of versions that did not store it. */
  readonly promptUntil: Date | null;
  /** The wallet's id of the transaction that debited the payer; null while unknown. */
  readonly providerTransactionId: string | null;
}

/**
 * Whether it is too late for the first prompt. The payer no longer expects it, may have paid in another way, and may be
 * prompted by another payment.
 */
export const isPromptOver = ({ promptUntil }: Pick<AttemptWork, 'promptUntil'>, now: Date): boolean =>
  promptUntil !== null && now >= promptUntil;

export interface AttemptLease {
  readonly leasedUntil: Date;
  /** Whether the wallet may know the request, so that a query must come before a repeated request. */
  readonly sentBefore: boolean;
  /** Until when a request that never reached the wallet may be sent again. */
  readonly promptUntil: Date;
}

/** The attempt after the decision. Without a lease it is no longer due, and the wallet is not called. */
export interface DecidedLease {
  readonly changed: Changed | undefined;
  readonly attempt: PaymentAttempt;
  readonly order: Order;
  readonly lease: AttemptLease | undefined;
}

/**
 * Leases the attempt to a worker until `leaseMs` from now. An attempt that was never sent becomes SENT, because the wallet
 * may get the request from now on. An attempt that must not be sent ends instead. Its prompt or its order's session has expired, or the
 * wallet holds money of an earlier attempt. Rejection: `not_due` when it is early, leased or settled.
 */
export function decideLease(
  order: OrderInFull,
  work: AttemptWork,
  leaseMs: number,
  now: Date,
): Result<DecidedLease, 'not_due'> {
  if (work.dueAt === null || work.dueAt > now || (work.leasedUntil ?? now) > now) return err('not_due');
  const attemptId = work.attempt.id;
  // After a lease without a report, the request counts as sent.
  const sentBefore = work.maybeSent || work.leasedUntil !== null;
  let changed: Changed | undefined;
  if (work.attempt.status === 'REQUESTED') {
    const sent = transition(order, { type: 'send_attempt', attemptId }, now);
    // The session expired before the wallet was called. The order's expiry ends the attempt too.
    if (!sent.ok) return ok({ changed, attempt: work.attempt, order, lease: undefined });
    changed = sent.value;
  }
  const sentOrder = changed?.order ?? order;
  const attempt = attemptAfter(work.attempt, changed);
  const held = moneyNotReturned(sentOrder);
  const mayNotBeSent = held !== undefined || now >= order.expiresAt || isPromptOver(work, now);
  if (!sentBefore && (!isInFlight(attempt) || mayNotBeSent)) {
    const ended = transition(sentOrder, { type: 'time_out_attempt', attemptId, isUnsent: true }, now);
    if (ended.ok) changed = followedBy(changed, ended.value);
    return ok({
      changed,
      attempt: attemptAfter(attempt, changed),
      order: changed?.order ?? order,
      lease: undefined,
    });
  }
  const leasedUntil = new Date(now.getTime() + leaseMs);
  // While the wallet holds money of another attempt, no request is repeated, even if the wallet never received it.
  const promptUntil = earlier(work.promptUntil ?? leasedUntil, held?.foundAt);
  return ok({ changed, attempt, order: sentOrder, lease: { leasedUntil, sentBefore, promptUntil } });
}

/**
 * Whether a hint about an attempt makes it due at once. This includes attempts that ended without money, because a wallet may
 * still report a debit, which is then a stray payment. An attempt that ended before it was sent is excluded.
 */
export const canMakeDue = ({ attempt, maybeSent }: Pick<AttemptWork, 'attempt' | 'maybeSent'>): boolean =>
  attempt.status !== 'SUCCEEDED' && (isInFlight(attempt) || maybeSent);

/** An attempt after a change of its order. A change always concerns the order's latest attempt. */
export function attemptAfter(before: PaymentAttempt, changed: Changed | undefined): PaymentAttempt {
  const latest = changed?.order.latestAttempt;
  return latest?.id === before.id ? latest : before;
}

const earlier = (time: Date, other: Date | undefined): Date =>
  other === undefined || time < other ? time : other;
