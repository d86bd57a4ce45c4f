import { optionsOfWallet, walletOfOption } from '../../../contract/payment-options.ts';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { Database } from '../../database/database.ts';
import { PaymentAttemptRow } from '../../database/entities.ts';
import { attemptOf } from '../../database/order-rows.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import { Currency } from '../../domain/currency.ts';
import { Money } from '../../domain/money.ts';
import type { Changed, Order, PaymentAttempt, WalletDeclineReason } from '../../domain/order.ts';
import { isInFlight } from '../../domain/order.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { transition } from '../../domain/transition.ts';
import type { Command, Rejection } from '../../domain/transition.ts';
import type { LockedOrder, OrderChanges } from '../changes/change-order.ts';
import { findStrayPayment, recordStrayPayment } from '../changes/found-stray-payment.ts';
import type { FoundMoney } from '../changes/found-stray-payment.ts';
import { keepExchanges } from './keep-exchanges.ts';
import { lockOrderOf } from '../changes/lock-order-of-attempt.ts';
import { isPromptOver } from './prompt-over.ts';
import { nextLook } from './next-look.ts';

/** What a wallet, asked by us, said of an attempt. */
export type WalletOutcome =
  | { readonly type: 'pending'; readonly providerReference: string }
  | ({ readonly type: 'completed' } & FoundMoney)
  | { readonly type: 'declined'; readonly reason: WalletDeclineReason }
  | { readonly type: 'timed_out' }
  | { readonly type: 'unknown'; readonly detail: string }
  | { readonly type: 'not_reached'; readonly detail: string };

export interface OutcomeReport {
  readonly merchantId: PublicId<'mer'>;
  readonly attemptId: PublicId<'pat'>;
  readonly leaseId: string;
  readonly outcome: WalletOutcome;
  readonly exchanges: readonly WalletExchange[];
  /** How long the wallet asked to be left alone; 0 when it did not. */
  readonly retryAfterMs: number;
  readonly requestId: string;
}

export interface RecordedOutcome {
  readonly order: Order;
  readonly attempt: PaymentAttempt;
  readonly dueAt: Date | null;
  readonly strayPaymentId: PublicId<'stp'> | '';
}

export type OutcomeRefusal = 'not_found' | 'lease_lost' | 'sent_before';
export type RecordOutcome = (report: OutcomeReport) => Promise<Result<RecordedOutcome, OutcomeRefusal>>;

export interface RecordOutcomeParts {
  readonly database: Database;
  readonly changes: OrderChanges;
  readonly newId: NewId;
  readonly now: () => Date;
  readonly onEvents: () => void;
}

/** An attempt under its order's lock, while its outcome is worked into both. */
interface Case {
  readonly em: EntityManager;
  readonly row: PaymentAttemptRow;
  readonly locked: LockedOrder;
  readonly now: Date;
  readonly requestId: string;
}

/** Records what a wallet said and what follows from it, in one transaction. */
export function createRecordOutcome(parts: RecordOutcomeParts): RecordOutcome {
  const { database, changes, newId, now, onEvents } = parts;

  const apply = async (
    { em, locked, now: at, requestId }: Case,
    command: Command,
  ): Promise<Result<Changed, Rejection>> => {
    const changed = transition(locked.order, command, at);
    if (changed.ok) await changes.apply(em, locked, changed.value, requestId);
    return changed;
  };

  const findStray = (one: Case, kind: 'LATE' | 'WRONG_AMOUNT', money: FoundMoney): Promise<PublicId<'stp'>> =>
    recordStrayPayment(one.em, newId, one.row, kind, money, one.now);

  /** Gives the order as it is now and the stray payment that the money became, if it did. */
  const complete = async (
    one: Case,
    attemptId: PublicId<'pat'>,
    money: FoundMoney,
  ): Promise<[Order, PublicId<'stp'> | '']> => {
    const { locked, row } = one;
    if (row.status === 'SUCCEEDED' && row.providerTransactionId === money.providerTransactionId)
      return [locked.order, ''];
    if (await hasPaidAnother(one.em, row, money.providerTransactionId)) {
      row.detail = `the wallet names transaction ${money.providerTransactionId}, which has paid another order`;
      const lost = await apply(one, { type: 'lose_attempt', attemptId });
      return [lost.ok ? lost.value.order : locked.order, ''];
    }
    if (row.status !== 'SUCCEEDED') row.providerTransactionId = money.providerTransactionId;
    const debited = parseDebited(money);
    const confirmed =
      debited === undefined
        ? err({ type: 'amount_mismatch' } as const)
        : await apply(one, { type: 'confirm_attempt', attemptId, debited });
    if (confirmed.ok) return [confirmed.value.order, ''];
    if (confirmed.error.type !== 'amount_mismatch')
      return [locked.order, await findStray(one, 'LATE', money)];
    // The attempt is over, and not as a payment of this order: the wallet took something else.
    const stray = await findStray(one, 'WRONG_AMOUNT', money);
    const declined = await apply(one, { type: 'decline_attempt', attemptId, reason: 'wrong_amount' });
    return [declined.ok ? declined.value.order : locked.order, stray];
  };

  const follow = async (one: Case, outcome: WalletOutcome): Promise<[Order, PublicId<'stp'> | '']> => {
    const attemptId = attemptOf(one.row).id;
    const orderAfter = async (command: Command): Promise<[Order, PublicId<'stp'> | '']> => {
      const changed = await apply(one, command);
      return [changed.ok ? changed.value.order : one.locked.order, ''];
    };
    switch (outcome.type) {
      case 'pending':
        if (outcome.providerReference !== '') one.row.providerReference = outcome.providerReference;
        return [one.locked.order, ''];
      case 'completed':
        return complete(one, attemptId, outcome);
      case 'declined':
        return orderAfter({ type: 'decline_attempt', attemptId, reason: outcome.reason });
      case 'timed_out':
        return orderAfter({ type: 'time_out_attempt', attemptId });
      case 'unknown':
        one.row.detail = outcome.detail;
        return orderAfter({ type: 'lose_attempt', attemptId });
      case 'not_reached':
        one.row.detail = outcome.detail;
        // Certainly not asked and no longer worth asking: nobody has been charged, and the order must not wait for ever.
        if (one.now >= one.locked.order.expiresAt || isPromptOver(one.row, one.now))
          return orderAfter({ type: 'time_out_attempt', attemptId });
        return [one.locked.order, ''];
    }
  };

  const record = async (
    em: EntityManager,
    report: OutcomeReport,
  ): Promise<Result<RecordedOutcome, OutcomeRefusal>> => {
    const key = { merchantId: storedId('mer', report.merchantId), id: storedId('pat', report.attemptId) };
    const locked = await lockOrderOf(em, changes, key);
    if (locked === undefined) return err('not_found');
    const row = await em.findOneOrFail(PaymentAttemptRow, key);
    if (row.leaseId !== report.leaseId) return err('lease_lost');
    if (row.leasedUntil == null) return ok(await recordedBefore(em, row, locked.order, report.outcome));
    const isReached = report.outcome.type !== 'not_reached';
    if (!isReached && row.maybeSent) return err('sent_before');
    const at = now();
    // The lease made it due at its own end; any earlier time is that of news which came since.
    const hastenedTo = row.dueAt != null && row.dueAt < row.leasedUntil ? row.dueAt : null;
    row.maybeSent = isReached;
    const { status, providerTransactionId } = row;
    const [order, strayPaymentId] = await follow(
      { em, row, locked, now: at, requestId: report.requestId },
      report.outcome,
    );
    const areDecisive = isDecided({ status, providerTransactionId }, row, report.outcome);
    await keepExchanges(em, row, { exchanges: report.exchanges, areDecisive, newId, at });
    row.leasedUntil = null;
    row.dueAt = row.status === 'SUCCEEDED' ? null : (hastenedTo ?? followUp(row, order, report, at));
    return ok({ order, attempt: attemptOf(row), dueAt: row.dueAt, strayPaymentId });
  };

  return async (report) => {
    const recorded = await database.fork().transactional((em) => record(em, report));
    if (recorded.ok) onEvents();
    return recorded;
  };
}

/** One transaction of a wallet pays one order: the same one twice is a mistake of the wallet's, or worse. */
async function hasPaidAnother(
  em: EntityManager,
  row: PaymentAttemptRow,
  transaction: string,
): Promise<boolean> {
  const { environment, merchantId, id } = row;
  const paymentOption = { $in: optionsOfWallet(walletOfOption(row.paymentOption)).map(({ word }) => word) };
  const others = await em.find(
    PaymentAttemptRow,
    { environment, paymentOption, providerTransactionId: transaction, status: 'SUCCEEDED' },
    { limit: 2, disableIdentityMap: true },
  );
  return others.some((other) => other.id !== id || other.merchantId !== merchantId);
}

/** What was said under a lease is recorded once: a repeat, whose first answer was lost, finds what that made. */
async function recordedBefore(
  em: EntityManager,
  row: PaymentAttemptRow,
  order: Order,
  outcome: WalletOutcome,
): Promise<RecordedOutcome> {
  const strayPaymentId = outcome.type === 'completed' ? await findStrayPayment(em, row, outcome) : undefined;
  return { order, attempt: attemptOf(row), dueAt: row.dueAt ?? null, strayPaymentId: strayPaymentId ?? '' };
}

/** A wallet that was asked about an ended attempt and could not say is asked again, but not for ever. */
const secondLooksForMs = 24 * 60 * 60_000;

function followUp(
  row: PaymentAttemptRow,
  order: Order,
  { outcome, retryAfterMs }: OutcomeReport,
  now: Date,
): Date | null {
  const promptUntil = row.promptUntil ?? now;
  const look = (): Date =>
    nextLook(now, { ...row, promptUntil, retryAfterMs, sessionEndsAt: order.expiresAt });
  if (isInFlight(row)) return look();
  const isUnsettled = outcome.type === 'pending' || outcome.type === 'unknown';
  return isUnsettled && now.getTime() - row.updatedAt.getTime() < secondLooksForMs ? look() : null;
}

/** Whether the attempt ended by this outcome, or money turned up by it that was not known of. */
function isDecided(
  before: Pick<PaymentAttemptRow, 'status' | 'providerTransactionId'>,
  row: PaymentAttemptRow,
  outcome: WalletOutcome,
): boolean {
  if (isInFlight(before) && !isInFlight(row)) return true;
  return (
    outcome.type === 'completed' && outcome.providerTransactionId !== (before.providerTransactionId ?? '')
  );
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
