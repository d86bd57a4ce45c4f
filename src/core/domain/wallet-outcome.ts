import type { AttemptWork } from './attempt-work.ts';
import { attemptAfter, isPromptOver } from './attempt-work.ts';
import { Currency } from './currency.ts';
import { Money } from './money.ts';
import type { NextAction } from './next-action.ts';
import { nextQueryTime } from './next-query.ts';
import type { Changed, Order, OrderInFull, PaymentAttempt, WalletDeclineReason } from './order.ts';
import { isInFlight, paidBy } from './order.ts';
import { type Result, err, ok } from './result.ts';
import type { CommandOf } from './transition.ts';
import { transition } from './transition.ts';
import { unreachable } from './unreachable.ts';

/** Money that the wallet reports as debited, in the wallet's notation. */
export interface FoundMoney {
  readonly providerTransactionId: string;
  readonly amount: string;
  readonly currency: string;
}

/** The wallet's answer to a query about an attempt. */
export type WalletOutcome =
  | { readonly type: 'pending'; readonly providerReference: string; readonly nextAction?: NextAction }
  | ({ readonly type: 'completed' } & FoundMoney)
  | { readonly type: 'declined'; readonly reason: WalletDeclineReason }
  | { readonly type: 'timed_out' }
  | { readonly type: 'unknown'; readonly detail: string }
  | { readonly type: 'not_reached'; readonly detail: string };

/** A worker's report under its lease. */
export interface OutcomeReport {
  readonly leaseId: string;
  readonly outcome: WalletOutcome;
  /** The wait that the wallet requested; 0 when it requested none. */
  readonly retryAfterMs: number;
}

/** Money that does not pay the order, and the reason. It is returned to the payer. */
export interface StrayFound {
  readonly kind: 'LATE' | 'WRONG_AMOUNT';
  readonly money: FoundMoney;
}

/** The effect of an outcome on an order, its attempt and the work on it. */
export type DecidedOutcome =
  /** The lease has already reported. The first report counts, and nothing changes. */
  | { readonly isRepeat: true; readonly changed: undefined }
  | {
      readonly isRepeat: false;
      readonly changed: Changed | undefined;
      readonly stray: StrayFound | undefined;
      readonly attempt: PaymentAttempt;
      /** When the next query is due; null when the attempt is settled. */
      readonly dueAt: Date | null;
      readonly maybeSent: boolean;
      /** New values of the wallet's data about the attempt. A missing one does not change. */
      readonly updates: AttemptUpdates;
      /** Whether this outcome ended the attempt, or revealed new money. */
      readonly isDecisive: boolean;
    };

export interface AttemptUpdates {
  readonly providerReference?: string;
  readonly nextAction?: NextAction;
  readonly providerTransactionId?: string;
  readonly detail?: string;
}

export interface OutcomeTimes {
  /** The database's time. */
  readonly now: Date;
  /** The time that the database's clock and the machine's have both reached. It ends the queries of an ended attempt, which is final. */
  readonly reachedAt: Date;
}

/**
 * Decides the effect of a wallet's answer on an order and its attempt. `isTransactionTaken`: whether the wallet's
 * transaction is recorded for another payment already.
 *
 * The money pays the order if the order accepts exactly that amount. Otherwise it is stray: WRONG_AMOUNT ends the attempt,
 * LATE changes nothing. A transaction is used once, so the outcome stays unknown if the transaction is taken.
 * Rejections: `lease_lost` when another lease followed; `sent_before` when the report says that the request was not sent,
 * although an earlier worker may have sent it.
 */
export function decideOutcome(
  order: OrderInFull,
  work: AttemptWork,
  report: OutcomeReport,
  isTransactionTaken: boolean,
  times: OutcomeTimes,
): Result<DecidedOutcome, 'lease_lost' | 'sent_before'> {
  const { now } = times;
  const { outcome } = report;
  if (work.leaseId !== report.leaseId) return err('lease_lost');
  if (work.leasedUntil === null) return ok({ isRepeat: true, changed: undefined });
  if (outcome.type === 'not_reached' && work.maybeSent) return err('sent_before');

  const { changed, stray, updates = {} } = applyOutcome(order, work, outcome, isTransactionTaken, now);
  const attempt = attemptAfter(work.attempt, changed);
  const orderAfter = changed?.order ?? order;
  // The lease made the attempt due when the lease expires. An earlier due time comes from a hint that arrived since.
  const earlierDueAt = work.dueAt !== null && work.dueAt < work.leasedUntil ? work.dueAt : null;
  const dueAt =
    attempt.status === 'SUCCEEDED'
      ? null
      : (earlierDueAt ?? nextQueryAt(orderAfter, { ...work, attempt }, report, times));
  const isDecisive =
    (isInFlight(work.attempt) && !isInFlight(attempt)) ||
    (outcome.type === 'completed' && outcome.providerTransactionId !== (work.providerTransactionId ?? ''));
  const maybeSent = outcome.type !== 'not_reached';
  return ok({ isRepeat: false, changed, stray, attempt, dueAt, maybeSent, updates, isDecisive });
}

interface AppliedOutcome {
  readonly changed: Changed | undefined;
  readonly stray?: StrayFound;
  readonly updates?: AttemptUpdates;
}

function applyOutcome(
  order: OrderInFull,
  work: AttemptWork,
  outcome: WalletOutcome,
  isTransactionTaken: boolean,
  now: Date,
): AppliedOutcome {
  const attemptId = work.attempt.id;
  switch (outcome.type) {
    case 'pending': {
      const { providerReference, nextAction } = outcome;
      const updates = {
        ...(providerReference === '' ? {} : { providerReference }),
        ...(nextAction === undefined ? {} : { nextAction }),
      };
      return { changed: undefined, updates };
    }
    case 'completed':
      return completeOrder(order, work, outcome, isTransactionTaken, now);
    case 'declined':
      return changeBy(order, { type: 'decline_attempt', attemptId, reason: outcome.reason }, now);
    case 'timed_out':
      return changeBy(order, { type: 'time_out_attempt', attemptId }, now);
    case 'unknown':
      return {
        ...changeBy(order, { type: 'lose_attempt', attemptId }, now),
        updates: { detail: outcome.detail },
      };
    case 'not_reached': {
      const updates = { detail: outcome.detail };
      // The request was certainly not sent, and it is too late to send it. No payer was charged, so the order need not wait.
      return now >= order.expiresAt || isPromptOver(work, now)
        ? { ...changeBy(order, { type: 'time_out_attempt', attemptId, isUnsent: true }, now), updates }
        : { changed: undefined, updates };
    }
    default:
      return unreachable(outcome);
  }
}

/** The change of a command; none when the order rejects it because its attempt has ended. */
function changeBy(
  order: OrderInFull,
  command: CommandOf<'decline_attempt' | 'time_out_attempt' | 'lose_attempt'>,
  now: Date,
): AppliedOutcome {
  const changed = transition(order, command, now);
  return { changed: changed.ok ? changed.value : undefined };
}

function completeOrder(
  order: OrderInFull,
  { attempt, providerTransactionId }: AttemptWork,
  { providerTransactionId: transaction, amount, currency }: FoundMoney,
  isTransactionTaken: boolean,
  now: Date,
): AppliedOutcome {
  const attemptId = attempt.id;
  const hasSucceeded = attempt.status === 'SUCCEEDED';
  if (hasSucceeded && providerTransactionId === transaction) return { changed: undefined };
  if (isTransactionTaken) {
    const detail = `the wallet names transaction ${transaction}, which is recorded for another payment already`;
    return { ...changeBy(order, { type: 'lose_attempt', attemptId }, now), updates: { detail } };
  }
  const money = { providerTransactionId: transaction, amount, currency };
  const updates = hasSucceeded ? {} : { providerTransactionId: transaction };
  const debited = parseDebited(money);
  const confirmed =
    debited === undefined
      ? err({ type: 'amount_mismatch' } as const)
      : transition(order, { type: 'confirm_attempt', attemptId, debited }, now);
  if (confirmed.ok) return { changed: paidBy(confirmed.value, transaction), updates };
  if (confirmed.error.type !== 'amount_mismatch')
    return { changed: undefined, updates, stray: { kind: 'LATE', money } };
  // The attempt ends without paying the order, because the wallet debited another amount.
  const declined = changeBy(order, { type: 'decline_attempt', attemptId, reason: 'wrong_amount' }, now);
  return { ...declined, updates, stray: { kind: 'WRONG_AMOUNT', money } };
}

/** How long an ended attempt is queried again while the wallet gives no definite answer. */
const queriedAfterEndForMs = 24 * 60 * 60_000;

/** When the wallet is queried again; null when it need not be. */
function nextQueryAt(
  { expiresAt: sessionEndsAt }: Order,
  { attempt, leases, promptUntil }: AttemptWork,
  { outcome, retryAfterMs }: OutcomeReport,
  { now, reachedAt }: OutcomeTimes,
): Date | null {
  const nextQuery = (): Date =>
    nextQueryTime(now, {
      leases,
      createdAt: attempt.createdAt,
      promptUntil: promptUntil ?? now,
      retryAfterMs,
      sessionEndsAt,
    });
  if (isInFlight(attempt)) return nextQuery();
  const isUnsettled = outcome.type === 'pending' || outcome.type === 'unknown';
  return isUnsettled && reachedAt.getTime() - attempt.updatedAt.getTime() < queriedAfterEndForMs
    ? nextQuery()
    : null;
}

/** The amount that the wallet reports as debited; undefined when it is not a valid amount of a known currency. */
export function parseDebited({
  amount,
  currency,
}: Pick<FoundMoney, 'amount' | 'currency'>): Money | undefined {
  const known = Currency.parse(currency, 'currency', [currency]);
  if (!known.ok) return undefined;
  // Wallets write 100.00 for 100 JPY and 100.5 for 100.50 ETB. Trailing zeros are not a difference.
  const money = Money.parse(trimDecimals(amount, known.value.exponent), 'amount', known.value);
  return money.ok ? money.value : undefined;
}

/**
 * Whether a wallet may be asked to return this money: its amount is a positive number. The wallet took it, so it is returned in
 * the wallet's own notation, even in a currency that the order does not have. Any other amount is an error of the wallet, which a
 * person must ask about.
 */
export const isReturnable = ({ amount }: Pick<FoundMoney, 'amount'>): boolean =>
  /^[0-9]+(?:\.[0-9]+)?$/.test(amount) && /[1-9]/.test(amount);

function trimDecimals(amount: string, exponent: number): string {
  const [, whole = '', decimals = ''] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(amount) ?? [];
  const needed = decimals.slice(0, exponent);
  if (whole === '' || !/^0*$/.test(decimals.slice(exponent))) return amount;
  return needed === '' ? whole : `${whole}.${needed}`;
}
