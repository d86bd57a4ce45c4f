import type { AttemptWork } from './attempt-work.ts';
import { attemptAfter, isPromptOver } from './attempt-work.ts';
import { Currency } from './currency.ts';
import { Money } from './money.ts';
import { nextLook } from './next-look.ts';
import type { Changed, Order, OrderInFull, PaymentAttempt, WalletDeclineReason } from './order.ts';
import { isInFlight } from './order.ts';
import { type Result, err, ok } from './result.ts';
import type { CommandOf } from './transition.ts';
import { transition } from './transition.ts';
import { unreachable } from './unreachable.ts';

/** Money that a wallet says it took, as the wallet wrote it. */
export interface FoundMoney {
  readonly providerTransactionId: string;
  readonly amount: string;
  readonly currency: string;
}

/** What a wallet, asked by us, said of an attempt. */
export type WalletOutcome =
  | { readonly type: 'pending'; readonly providerReference: string }
  | ({ readonly type: 'completed' } & FoundMoney)
  | { readonly type: 'declined'; readonly reason: WalletDeclineReason }
  | { readonly type: 'timed_out' }
  | { readonly type: 'unknown'; readonly detail: string }
  | { readonly type: 'not_reached'; readonly detail: string };

/** A worker's report under its lease. */
export interface OutcomeReport {
  readonly leaseId: string;
  readonly outcome: WalletOutcome;
  /** How long the wallet asked to be left alone; 0 when it did not. */
  readonly retryAfterMs: number;
}

/** Money that did not pay the order, and why. It goes back to the payer. */
export interface StrayFound {
  readonly kind: 'LATE' | 'WRONG_AMOUNT';
  readonly money: FoundMoney;
}

/** What an outcome makes of an order, its attempt and the work on it. */
export type DecidedOutcome =
  /** The lease has reported before: the first report counts, and nothing changes. */
  | { readonly isRepeat: true; readonly changed: undefined }
  | {
      readonly isRepeat: false;
      readonly changed: Changed | undefined;
      readonly stray: StrayFound | undefined;
      readonly attempt: PaymentAttempt;
      /** When the wallet is asked again; null when the attempt is settled. */
      readonly dueAt: Date | null;
      readonly maybeSent: boolean;
      /** New values of what the wallet told about the attempt; a missing one stays as it is. */
      readonly updates: AttemptUpdates;
      /** Whether the attempt ended by this outcome, or money turned up by it that was not known of. */
      readonly isDecisive: boolean;
    };

export interface AttemptUpdates {
  readonly providerReference?: string;
  readonly providerTransactionId?: string;
  readonly detail?: string;
}

/**
 * Decides what a wallet's answer makes of an order and its attempt. `isTransactionTaken` says whether the transaction that
 * the wallet names has paid another order.
 *
 * The money pays the order when the order can take exactly that amount. Otherwise it is stray: WRONG_AMOUNT ends the
 * attempt, LATE changes nothing. One transaction pays one order, so a transaction that is taken leaves the outcome
 * unknown. Rejections: `lease_lost` when another lease followed; `sent_before` when the report says that the wallet was
 * not reached, although an earlier worker may have reached it.
 */
export function decideOutcome(
  order: OrderInFull,
  work: AttemptWork,
  report: OutcomeReport,
  isTransactionTaken: boolean,
  now: Date,
): Result<DecidedOutcome, 'lease_lost' | 'sent_before'> {
  const { outcome } = report;
  if (work.leaseId !== report.leaseId) return err('lease_lost');
  if (work.leasedUntil === null) return ok({ isRepeat: true, changed: undefined });
  if (outcome.type === 'not_reached' && work.maybeSent) return err('sent_before');

  const { changed, stray, updates = {} } = follow(order, work, outcome, isTransactionTaken, now);
  const attempt = attemptAfter(work.attempt, changed);
  const after = changed?.order ?? order;
  // The lease made the attempt due at its own end; an earlier time is that of news which came since.
  const hastenedTo = work.dueAt !== null && work.dueAt < work.leasedUntil ? work.dueAt : null;
  const dueAt =
    attempt.status === 'SUCCEEDED'
      ? null
      : (hastenedTo ?? followUp(after, { ...work, attempt }, report, now));
  const isDecisive =
    (isInFlight(work.attempt) && !isInFlight(attempt)) ||
    (outcome.type === 'completed' && outcome.providerTransactionId !== (work.providerTransactionId ?? ''));
  const maybeSent = outcome.type !== 'not_reached';
  return ok({ isRepeat: false, changed, stray, attempt, dueAt, maybeSent, updates, isDecisive });
}

interface Followed {
  readonly changed: Changed | undefined;
  readonly stray?: StrayFound;
  readonly updates?: AttemptUpdates;
}

function follow(
  order: OrderInFull,
  work: AttemptWork,
  outcome: WalletOutcome,
  isTransactionTaken: boolean,
  now: Date,
): Followed {
  const attemptId = work.attempt.id;
  switch (outcome.type) {
    case 'pending': {
      const { providerReference } = outcome;
      return { changed: undefined, ...(providerReference === '' ? {} : { updates: { providerReference } }) };
    }
    case 'completed':
      return complete(order, work, outcome, isTransactionTaken, now);
    case 'declined':
      return after(order, { type: 'decline_attempt', attemptId, reason: outcome.reason }, now);
    case 'timed_out':
      return after(order, { type: 'time_out_attempt', attemptId }, now);
    case 'unknown':
      return {
        ...after(order, { type: 'lose_attempt', attemptId }, now),
        updates: { detail: outcome.detail },
      };
    case 'not_reached': {
      const updates = { detail: outcome.detail };
      // Certainly not asked and no longer worth asking: no payer has been charged, and the order must not wait for ever.
      return now >= order.expiresAt || isPromptOver(work, now)
        ? { ...after(order, { type: 'time_out_attempt', attemptId }, now), updates }
        : { changed: undefined, updates };
    }
    default:
      return unreachable(outcome);
  }
}

/** The change that a command makes; none when the order rejects it, since its attempt has ended already. */
function after(
  order: OrderInFull,
  command: CommandOf<'decline_attempt' | 'time_out_attempt' | 'lose_attempt'>,
  now: Date,
): Followed {
  const changed = transition(order, command, now);
  return { changed: changed.ok ? changed.value : undefined };
}

function complete(
  order: OrderInFull,
  { attempt, providerTransactionId }: AttemptWork,
  { providerTransactionId: transaction, amount, currency }: FoundMoney,
  isTransactionTaken: boolean,
  now: Date,
): Followed {
  const attemptId = attempt.id;
  const hasSucceeded = attempt.status === 'SUCCEEDED';
  if (hasSucceeded && providerTransactionId === transaction) return { changed: undefined };
  if (isTransactionTaken) {
    const detail = `the wallet names transaction ${transaction}, which has paid another order`;
    return { ...after(order, { type: 'lose_attempt', attemptId }, now), updates: { detail } };
  }
  const money = { providerTransactionId: transaction, amount, currency };
  const updates = hasSucceeded ? {} : { providerTransactionId: transaction };
  const debited = parseDebited(money);
  const confirmed =
    debited === undefined
      ? err({ type: 'amount_mismatch' } as const)
      : transition(order, { type: 'confirm_attempt', attemptId, debited }, now);
  if (confirmed.ok) return { changed: confirmed.value, updates };
  if (confirmed.error.type !== 'amount_mismatch')
    return { changed: undefined, updates, stray: { kind: 'LATE', money } };
  // The attempt is over, and not as a payment of this order: the wallet took something else.
  const declined = after(order, { type: 'decline_attempt', attemptId, reason: 'wrong_amount' }, now);
  return { ...declined, updates, stray: { kind: 'WRONG_AMOUNT', money } };
}

/** A wallet that was asked about an ended attempt and could not say is asked again, but not for ever. */
const secondLooksForMs = 24 * 60 * 60_000;

function followUp(
  { expiresAt: sessionEndsAt }: Order,
  { attempt, leases, promptUntil }: AttemptWork,
  { outcome, retryAfterMs }: OutcomeReport,
  now: Date,
): Date | null {
  const look = (): Date =>
    nextLook(now, {
      leases,
      createdAt: attempt.createdAt,
      promptUntil: promptUntil ?? now,
      retryAfterMs,
      sessionEndsAt,
    });
  if (isInFlight(attempt)) return look();
  const isUnsettled = outcome.type === 'pending' || outcome.type === 'unknown';
  return isUnsettled && now.getTime() - attempt.updatedAt.getTime() < secondLooksForMs ? look() : null;
}

/** What a wallet says it debited; undefined when it is no amount of money that we know. */
function parseDebited({ amount, currency }: FoundMoney): Money | undefined {
  const known = Currency.parse(currency, 'currency', [currency]);
  if (!known.ok) return undefined;
  // Wallets write 100.00 for 100 JPY and 100.5 for 100.50 ETB: decimals that say nothing are not a difference.
  const money = Money.parse(trimDecimals(amount, known.value.exponent), 'amount', known.value);
  return money.ok ? money.value : undefined;
}

function trimDecimals(amount: string, exponent: number): string {
  const [, whole = '', decimals = ''] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(amount) ?? [];
  const needed = decimals.slice(0, exponent);
  if (whole === '' || !/^0*$/.test(decimals.slice(exponent))) return amount;
  return needed === '' ? whole : `${whole}.${needed}`;
}
