import type { Changed, Order, OrderInFull, PaymentAttempt } from './order.ts';
import { followedBy, isInFlight, moneyNotReturned } from './order.ts';
import { type Result, err, ok } from './result.ts';
import { transition } from './transition.ts';

/*
 * The work on a payment attempt. A worker leases an attempt that is due, asks the wallet, and reports the wallet's answer
 * under its lease. The order decides what becomes of the attempt. This file and wallet-outcome.ts decide when the wallet
 * is asked, and whether it may still be asked for the first time.
 */

/** An attempt, which need not be its order's latest, with what a worker has to know of it. */
export interface AttemptWork {
  readonly attempt: PaymentAttempt;
  /** From when on the wallet is to be asked; null when it is not to be asked. */
  readonly dueAt: Date | null;
  /** The latest lease. It stays known after its report, so that the report can be repeated. */
  readonly leaseId: string | null;
  /** Until when the latest lease holds; null once it has reported. */
  readonly leasedUntil: Date | null;
  /** How often the attempt has been leased. */
  readonly leases: number;
  /** Whether the request for the payment may have reached the wallet. */
  readonly maybeSent: boolean;
  /** Until when the payer may be asked to confirm; null on attempts from before this was recorded. */
  readonly promptUntil: Date | null;
  /** The wallet's number of the transaction that took the money, once known. */
  readonly providerTransactionId: string | null;
}

/**
 * Whether it is too late to ask the payer for the first time. Whoever waited for a prompt has given up by then, may have
 * paid in another way, and counts as free to be asked by another payment.
 */
export const isPromptOver = ({ promptUntil }: Pick<AttemptWork, 'promptUntil'>, now: Date): boolean =>
  promptUntil !== null && now >= promptUntil;

export interface AttemptLease {
  readonly leasedUntil: Date;
  /** Whether the wallet may know the request already, so that it has to be asked before the request is sent again. */
  readonly sentBefore: boolean;
  /** Until when a request that never reached the wallet may be sent again. */
  readonly promptUntil: Date;
}

/** The attempt as the lease leaves it; without a lease it is not due any more, and the wallet is not asked. */
export interface DecidedLease {
  readonly changed: Changed | undefined;
  readonly attempt: PaymentAttempt;
  readonly order: Order;
  readonly lease: AttemptLease | undefined;
}

/**
 * Gives a worker the attempt until `leaseMs` from now. An attempt that was never sent becomes SENT: from now on the wallet
 * may have been asked. An attempt that must not be sent any more ends instead: its prompt or its order's session is over,
 * or the wallet holds money of an earlier attempt. Rejection: `not_due` when it is early, leased or settled.
 */
export function decideLease(
  order: OrderInFull,
  work: AttemptWork,
  leaseMs: number,
  now: Date,
): Result<DecidedLease, 'not_due'> {
  if (work.dueAt === null || work.dueAt > now || (work.leasedUntil ?? now) > now) return err('not_due');
  const attemptId = work.attempt.id;
  // A lease that ended without a report is as good as a request sent.
  const sentBefore = work.maybeSent || work.leasedUntil !== null;
  let changed: Changed | undefined;
  if (work.attempt.status === 'REQUESTED') {
    const sent = transition(order, { type: 'send_attempt', attemptId }, now);
    // The session ended before the wallet was asked: the order's expiry ends the attempt too.
    if (!sent.ok) return ok({ changed, attempt: work.attempt, order, lease: undefined });
    changed = sent.value;
  }
  const sentOrder = changed?.order ?? order;
  const attempt = attemptAfter(work.attempt, changed);
  const held = moneyNotReturned(sentOrder);
  const mayNotBeSent = held !== undefined || now >= order.expiresAt || isPromptOver(work, now);
  if (!sentBefore && (!isInFlight(attempt) || mayNotBeSent)) {
    const ended = transition(sentOrder, { type: 'time_out_attempt', attemptId }, now);
    if (ended.ok) changed = followedBy(changed, ended.value);
    return ok({
      changed,
      attempt: attemptAfter(attempt, changed),
      order: changed?.order ?? order,
      lease: undefined,
    });
  }
  const leasedUntil = new Date(now.getTime() + leaseMs);
  // While the wallet holds money of another attempt, not even a request that the wallet never got is sent again.
  const promptUntil = earlier(work.promptUntil ?? leasedUntil, held?.foundAt);
  return ok({ changed, attempt, order: sentOrder, lease: { leasedUntil, sentBefore, promptUntil } });
}

/**
 * Whether news of an attempt makes it due at once. An attempt that ended without money counts too: a wallet may have
 * changed its mind, and then the money is stray. An attempt that ended unsent stays unsent.
 */
export const canHasten = ({ attempt, maybeSent }: Pick<AttemptWork, 'attempt' | 'maybeSent'>): boolean =>
  attempt.status !== 'SUCCEEDED' && (isInFlight(attempt) || maybeSent);

/** An attempt after a change of its order; a change is always about the order's latest attempt. */
export function attemptAfter(before: PaymentAttempt, changed: Changed | undefined): PaymentAttempt {
  const latest = changed?.order.latestAttempt;
  return latest?.id === before.id ? latest : before;
}

const earlier = (time: Date, other: Date | undefined): Date =>
  other === undefined || time < other ? time : other;
