import { isPromptOver } from './attempt-work.ts';
import type { Order } from './order.ts';
import { isInFlight } from './order.ts';
import type {
  ExplainedAttempt,
  ExplainedOrder,
  ExplainedPayerPayment,
  ExplainedStray,
  OrderExplanation,
} from './order-explanation.ts';
import { isWithWallet, refundStatus } from './refund.ts';
import type { Refund } from './refund-record.ts';
import type { Reversal } from './reversal.ts';
import { maxAttempts } from './transition.ts';
import { unreachable } from './unreachable.ts';
import { walletIdOf } from './wallet.ts';

/** If work is due for longer than this, no process does it. Reports of wallets are out of date after this time too. */
const overdueMs = 20_000;

/** Explains an order. Every order has exactly one explanation at any time. */
export function explainOrder(explained: ExplainedOrder, now: Date): OrderExplanation {
  return (
    explainMoney(explained, now) ??
    (explained.order.status === 'PENDING' ? explainPending(explained, now) : explainEnded(explained))
  );
}

type Fact = Omit<OrderExplanation, 'orderStatus' | 'reason'> & { readonly reason?: string };

const withStatus = (fact: Fact, { status }: Order): OrderExplanation => ({
  reason: '',
  ...fact,
  orderStatus: status,
});

/** A fact of the order alone. */
const ofOrder = { wallet: '', subjectId: '' };

function explainEnded({ order, attempt }: ExplainedOrder): OrderExplanation {
  const nothing = { waitingFor: 'NOTHING', heldBy: 'NOBODY', next: 'NONE', nextAt: undefined } as const;
  const reason = order.status === 'COMPLETED' ? '' : endOf(attempt, order);
  return withStatus({ ...ofOrder, ...nothing, since: order.updatedAt, reason }, order);
}

/**
 * Why an order ended unpaid. An order that FAILED before its last possible attempt was cancelled. A cancellation may have ended the last
 * possible attempt before it was sent. This cannot be distinguished from an attempt that was not sent in time: both are `not_sent`.
 */
function endOf(attempt: ExplainedAttempt | null, order: Order): string {
  const isOfAttempt = order.paymentType === 'DIRECT' || order.attemptCount >= maxAttempts;
  if (order.status === 'FAILED' && !isOfAttempt) return 'cancelled';
  return attempt === null ? '' : reasonOf(attempt);
}

/** An attempt whose wallet certainly got no request is no fault of its payer. */
function reasonOf({ attempt: { status, declineReason }, maybeSent }: ExplainedAttempt): string {
  if (status === 'TIMED_OUT') return maybeSent ? 'timed_out' : 'not_sent';
  return declineReason ?? '';
}

/** The first fact about stray payments and refunds that keeps money from its owner. */
function explainMoney(explained: ExplainedOrder, now: Date): OrderExplanation | undefined {
  const { order, strays, refunds, attempt } = explained;
  // A payer who is confirming a payment can still end the order, whatever happens to other money.
  if (order.status === 'PENDING' && attempt !== null && isInFlight(attempt.attempt)) return undefined;
  const stray = strays.find(
    ({ reversal, isOfAttempt }) =>
      reversal.status !== 'REVERSED' && (isOfAttempt || order.status !== 'PENDING'),
  );
  if (stray !== undefined) return explainStray(stray, explained, now);
  const refund = refunds.find((each) => !isEnded(each));
  return refund === undefined ? undefined : explainRefund(refund, explained, now);
}

const isEnded = (refund: Refund): boolean => ['COMPLETED', 'FAILED'].includes(refundStatus(refund));

function explainStray(stray: ExplainedStray, explained: ExplainedOrder, now: Date): OrderExplanation {
  const { reversal, id: subjectId } = stray;
  const wallet = walletIdOf(stray.paymentOption);
  const about = { wallet, subjectId, since: stray.foundAt };
  const { order } = explained;
  const proposed = proposalOf(explained, subjectId, wallet, now);
  if (proposed !== undefined) return withStatus(proposed, order);
  if (reversal.status !== 'REVERSAL_DUE') {
    const decided = { next: 'RETURN_DECIDED', nextAt: undefined } as const;
    return withStatus(
      {
        ...about,
        ...decided,
        since: reversal.updatedAt,
        waitingFor: 'RETURN_DECISION',
        heldBy: 'OPERATOR',
      },
      order,
    );
  }
  const work = workAtWallet(reversal, about, explained, now);
  return withStatus({ waitingFor: 'MONEY_RETURNED', heldBy: 'WALLET', ...work }, order);
}

function explainRefund(refund: Refund, explained: ExplainedOrder, now: Date): OrderExplanation {
  const { progress, id: subjectId } = refund;
  const wallet = walletIdOf(refund.paymentOption);
  const about = { wallet, subjectId, since: refund.createdAt };
  const { order } = explained;
  const proposed = proposalOf(explained, subjectId, wallet, now);
  if (proposed !== undefined) return withStatus(proposed, order);
  if (!isWithWallet(progress) || progress.status !== 'REVERSAL_DUE') {
    const approved = { next: 'REFUND_APPROVED', nextAt: undefined } as const;
    return withStatus({ ...about, ...approved, waitingFor: 'REFUND_APPROVAL', heldBy: 'MERCHANT' }, order);
  }
  const work = workAtWallet(progress, about, explained, now);
  return withStatus({ waitingFor: 'REFUND_DECISION', heldBy: 'WALLET', ...work }, order);
}

type About = Pick<Fact, 'wallet' | 'subjectId' | 'since'>;

/** The next step of a due reversal, or the reason for which no process takes that step. */
function workAtWallet(
  { dueAt, isLeased, maybeSent }: Extract<Reversal, { status: 'REVERSAL_DUE' }>,
  about: About,
  explained: ExplainedOrder,
  now: Date,
): Pick<Fact, 'next' | 'nextAt'> & About & Partial<Fact> {
  // While work is leased, it is due when the lease expires.
  const idle = idleWork(about, dueAt, explained, now);
  if (idle !== undefined) return idle;
  const nextAt = isLeased || dueAt <= now ? undefined : dueAt;
  if (!maybeSent)
    return { ...about, waitingFor: 'REQUEST_SENT', heldBy: 'WALLETS_PROCESS', next: 'REQUEST_SENT', nextAt };
  return { ...about, next: 'WALLET_QUERIED', nextAt };
}

/** Why due work without a worker is not being done; undefined while a worker is about to take it. */
function idleWork(about: About, dueAt: Date, { walletState }: ExplainedOrder, now: Date): Fact | undefined {
  if (dueAt > now) return undefined;
  switch (walletState(about.wallet)) {
    case 'CIRCUIT_OPEN':
      return {
        ...about,
        waitingFor: 'WALLET_RECOVERY',
        heldBy: 'WALLET',
        next: 'WALLET_CHECKED',
        nextAt: undefined,
      };
    case 'SILENT':
      // A process that has just started has not reported yet.
      if (now.getTime() - dueAt.getTime() < overdueMs) return undefined;
      return {
        ...about,
        waitingFor: 'WALLETS_PROCESS',
        heldBy: 'OPERATOR',
        next: 'PROCESS_STARTED',
        nextAt: undefined,
      };
    case 'WORKING':
      return undefined;
  }
}

function proposalOf(
  { proposals }: ExplainedOrder,
  subjectId: string,
  wallet: string,
  now: Date,
): Fact | undefined {
  const proposal = proposals.find((each) => each.subjectId === subjectId && each.expiresAt > now);
  if (proposal === undefined) return undefined;
  return {
    waitingFor: 'SETTLEMENT_CONFIRMATION',
    heldBy: 'OPERATOR',
    next: 'SETTLEMENT_CONFIRMED',
    nextAt: proposal.expiresAt,
    since: proposal.proposedAt,
    wallet,
    subjectId,
  };
}

function explainPending(explained: ExplainedOrder, now: Date): OrderExplanation {
  const { order, attempt } = explained;
  return withStatus(
    attempt !== null && isInFlight(attempt.attempt)
      ? explainAttempt(attempt, explained, now)
      : explainUnpaid(explained, now),
    order,
  );
}

/** An order without a payment in progress. */
function explainUnpaid(explained: ExplainedOrder, now: Date): Fact {
  const { order, attempt, payable, mayBePaid, payerPayment } = explained;
  const { createdAt, expiresAt } = order;
  // The customer must not pay again, and the order does not expire.
  if (mayBePaid)
    return {
      ...ofOrder,
      waitingFor: 'RECOVERY',
      heldBy: 'OPERATOR',
      next: 'RECOVERY_COMPLETED',
      nextAt: undefined,
      since: undefined,
    };
  if (payerPayment !== null) return explainPayerPayment(payerPayment, explained, now);
  if (now >= expiresAt)
    return {
      ...ofOrder,
      waitingFor: 'EXPIRY',
      heldBy: 'CORE',
      next: 'ORDER_EXPIRES',
      nextAt: undefined,
      since: expiresAt,
    };
  const expires = { ...ofOrder, next: 'ORDER_EXPIRES', nextAt: expiresAt } as const;
  if (payable === 'SUSPENDED')
    return { ...expires, waitingFor: 'MERCHANT_SUSPENDED', heldBy: 'OPERATOR', since: createdAt };
  if (payable === 'NO_WALLET')
    return {
      ...expires,
      next: 'WALLET_OFFERED',
      waitingFor: 'NO_WALLET_OFFERED',
      heldBy: 'MERCHANT',
      since: createdAt,
    };
  if (attempt === null)
    return { ...expires, waitingFor: 'CUSTOMER_PAYMENT', heldBy: 'PAYER', since: createdAt };
  const since = attempt.attempt.updatedAt;
  return { ...expires, waitingFor: 'ANOTHER_PAYMENT', heldBy: 'PAYER', since, reason: reasonOf(attempt) };
}

function explainPayerPayment(
  { wallet, reportedAt, dueAt }: ExplainedPayerPayment,
  explained: ExplainedOrder,
  now: Date,
): Fact {
  const about = { wallet, subjectId: '', since: reportedAt };
  const nextAt = dueAt <= now ? undefined : dueAt;
  return (
    idleWork(about, dueAt, explained, now) ?? {
      ...about,
      waitingFor: 'PAYER_PAYMENT',
      heldBy: 'WALLET',
      next: 'WALLET_QUERIED',
      nextAt,
    }
  );
}

/** An order whose payment may still take money. */
function explainAttempt(work: ExplainedAttempt, explained: ExplainedOrder, now: Date): Fact {
  const { attempt, leasedUntil, maybeSent, promptUntil } = work;
  const wallet = walletIdOf(attempt.paymentOption);
  const about = { wallet, subjectId: attempt.id, since: attempt.updatedAt };
  const proposed = proposalOf(explained, attempt.id, wallet, now);
  if (proposed !== undefined) return proposed;
  const isLeased = leasedUntil !== null && leasedUntil > now;
  const dueAt = work.dueAt ?? now;
  const nextAt = isLeased || dueAt <= now ? undefined : dueAt;
  const isCertain = attempt.status === 'SENT' && maybeSent;
  // Without the account, the wallet is not even queried.
  if (work.accountProblem === 'UNREADABLE')
    return {
      ...about,
      waitingFor: 'WALLET_ACCOUNT_KEY',
      heldBy: 'OPERATOR',
      next: 'KEY_RESTORED',
      nextAt: undefined,
    };
  if (work.accountProblem === 'REFUSED' && !isCertain)
    return {
      ...about,
      waitingFor: 'MERCHANT_CREDENTIALS',
      heldBy: 'MERCHANT',
      next: 'CREDENTIALS_CORRECTED',
      nextAt: undefined,
    };
  const idle = isLeased ? undefined : idleWork(about, dueAt, explained, now);
  if (idle !== undefined) return idle;
  const queried = { ...about, next: 'WALLET_QUERIED', nextAt } as const;
  switch (attempt.status) {
    case 'REQUESTED':
      return {
        ...about,
        waitingFor: 'REQUEST_SENT',
        heldBy: 'WALLETS_PROCESS',
        next: 'REQUEST_SENT',
        nextAt,
      };
    case 'UNKNOWN':
      return { ...queried, waitingFor: 'WALLET_OUTCOME', heldBy: 'WALLET' };
    case 'SENT':
      if (!maybeSent)
        return isLeased
          ? { ...queried, waitingFor: 'WALLET_ANSWER', heldBy: 'WALLET' }
          : { ...about, waitingFor: 'WALLET_REACHED', heldBy: 'WALLET', next: 'REQUEST_SENT', nextAt };
      return isPromptOver(work, now)
        ? { ...queried, waitingFor: 'WALLET_DECISION', heldBy: 'WALLET', since: promptUntil ?? about.since }
        : { ...queried, waitingFor: 'PAYER_CONFIRMATION', heldBy: 'PAYER' };
    case 'SUCCEEDED':
    case 'DECLINED':
    case 'TIMED_OUT':
      throw new TypeError('the attempt is not in flight');
    default:
      return unreachable(attempt.status);
  }
}
