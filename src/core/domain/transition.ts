import { Money } from './money.ts';
import type {
  AttemptId,
  AttemptOrigin,
  Changed,
  CommandType,
  DecisionRecord,
  DeclineReason,
  Order,
  OrderEventType,
  OrderInFull,
  OrderStatus,
  PaymentAttempt,
  PaymentAttemptStatus,
  PaymentOption,
} from './order.ts';
import { moneyNotReturned } from './order.ts';
import type { PhoneNumber } from './phone-number.ts';
import { type Result, err, ok } from './result.ts';
import { unreachable } from './unreachable.ts';

/** How often a customer may try to pay one order. */
export const maxAttempts = 5;

/** The commands on an order, by type. Only the wallet's answer confirms or declines an attempt. */
interface Commands {
  readonly start_payment: {
    readonly attemptId: AttemptId;
    readonly origin: AttemptOrigin;
    readonly paymentOption: PaymentOption;
    readonly phone: PhoneNumber;
  };
  /** The attempt is about to be sent to the wallet. This must be stored before the call. */
  readonly send_attempt: { readonly attemptId: AttemptId };
  /** The wallet's answer was lost or unreadable. */
  readonly lose_attempt: { readonly attemptId: AttemptId };
  /** The wallet reports that it debited the payer. */
  readonly confirm_attempt: { readonly attemptId: AttemptId; readonly debited: Money };
  /** The wallet reports money that a payer sent for this order without a request of ours. It becomes an attempt of its own. */
  readonly receive_payment: {
    readonly attemptId: AttemptId;
    readonly paymentOption: PaymentOption;
    readonly debited: Money;
  };
  /** The wallet or the payer definitely declined. */
  readonly decline_attempt: { readonly attemptId: AttemptId; readonly reason: DeclineReason };
  /** The payer did not confirm in time, by the wallet's report. Our own deadline is a reason only if no request has reached the wallet (`isUnsent`). */
  readonly time_out_attempt: { readonly attemptId: AttemptId; readonly isUnsent?: boolean };
  /** The order must no longer be paid. */
  readonly cancel: unknown;
  /** The payment session has expired. */
  readonly expire: unknown;
}

export type CommandOf<Type extends CommandType> = {
  readonly [Each in Type]: { readonly type: Each } & Commands[Each];
}[Type];
export type Command = CommandOf<CommandType>;

/** Every reason for which an order rejects a command. */
type Reason =
  | { readonly type: 'order_is_final'; readonly status: Exclude<OrderStatus, 'PENDING'> }
  /** This attempt may still take money, or has taken it. */
  | { readonly type: 'payment_in_progress'; readonly attemptId: AttemptId }
  /** An earlier attempt took money that does not pay the order and is not yet returned to the payer. */
  | { readonly type: 'money_not_returned'; readonly attemptId: AttemptId }
  | { readonly type: 'too_many_attempts'; readonly limit: number }
  | { readonly type: 'session_ended' }
  | { readonly type: 'session_not_ended' }
  | { readonly type: 'option_not_allowed' }
  /** The command concerns an attempt that is not the order's latest. */
  | { readonly type: 'unknown_attempt' }
  | {
      readonly type: 'attempt_is_final';
      readonly status: Extract<PaymentAttemptStatus, 'SUCCEEDED' | 'DECLINED' | 'TIMED_OUT'>;
    }
  | { readonly type: 'attempt_not_sent' }
  | { readonly type: 'attempt_already_sent' }
  /** The debited amount or currency differs from the order's. */
  | { readonly type: 'amount_mismatch' };

type Rejected<Type extends Reason['type']> = Extract<Reason, { readonly type: Type }>;
type NotAtWallet = 'unknown_attempt' | 'attempt_not_sent' | 'attempt_is_final';

/** The rejections of a PENDING order, by the command's type. */
interface PendingRejections {
  readonly start_payment: Rejected<
    | 'option_not_allowed'
    | 'payment_in_progress'
    | 'money_not_returned'
    | 'session_ended'
    | 'too_many_attempts'
  >;
  readonly send_attempt: Rejected<
    'unknown_attempt' | 'session_ended' | 'attempt_already_sent' | 'attempt_is_final'
  >;
  readonly lose_attempt: Rejected<NotAtWallet>;
  readonly confirm_attempt: Rejected<NotAtWallet | 'amount_mismatch'>;
  readonly receive_payment: Rejected<'payment_in_progress' | 'amount_mismatch'>;
  readonly decline_attempt: Rejected<NotAtWallet>;
  readonly time_out_attempt: Rejected<NotAtWallet>;
  readonly cancel: Rejected<'payment_in_progress'>;
  readonly expire: Rejected<'payment_in_progress' | 'session_not_ended'>;
}

/** The possible rejections of a command type, so that a caller handles only these. */
export type RejectionOf<Type extends CommandType> = Rejected<'order_is_final'> | PendingRejections[Type];

export type Rejection = RejectionOf<CommandType>;

/** The rules of a PENDING order for each command type. */
type Rules = {
  readonly [Type in CommandType]: (
    order: OrderInFull,
    command: CommandOf<Type>,
    now: Date,
  ) => Result<Changed, PendingRejections[Type]>;
};

const rules: Rules = {
  start_payment: startPayment,
  send_attempt: sendAttempt,
  lose_attempt: (order, { attemptId }, now) =>
    applyAnswer(order, attemptId, (attempt) => changeWithoutEvent(order, movedTo(attempt, 'UNKNOWN', now))),
  confirm_attempt: (order, { attemptId, debited }, now) =>
    applyAnswer(order, attemptId, (attempt) => completeOrder(order, attempt, debited, now)),
  receive_payment: receivePayment,
  decline_attempt: (order, { attemptId, reason }, now) =>
    applyAnswer(order, attemptId, (attempt) =>
      ok(endUnpaid(order, { ...movedTo(attempt, 'DECLINED', now), declineReason: reason }, now)),
    ),
  time_out_attempt: (order, { attemptId }, now) =>
    applyAnswer(order, attemptId, (attempt) => ok(endUnpaid(order, movedTo(attempt, 'TIMED_OUT', now), now))),
  cancel: (order, _command, now) => closeUnpaid(order, 'FAILED', now),
  expire: (order, _command, now) =>
    sessionEnded(order, now) ? closeUnpaid(order, 'EXPIRED', now) : err({ type: 'session_not_ended' }),
};

/**
 * Decides the effect of a command on an order at `now`. Returns the changed order with at most one event to store, or a rejection.
 * Every pair of status and command has a result. The arguments stay unchanged. The event has the command and its inputs, so that a
 * rehearsal can repeat the decision with the rules of another version.
 *
 * A final order never changes. A PENDING order becomes:
 * - COMPLETED when the wallet confirms its exact amount, however late.
 * - FAILED when it is cancelled, or when the wallet declines a DIRECT order once, or a hosted order for the fifth time. A decline does
 *   not end it while a payer-started payment of it is being confirmed.
 * - EXPIRED after its session.
 *
 * It neither fails nor expires while an attempt may still take money. No attempt starts or is sent while an earlier attempt took money
 * that does not pay the order and is not yet returned. So at most one attempt of an order holds a payer's money. There are two exceptions.
 * A wallet may report a payment after its definite decline, and a payer may pay without a request of ours. Stray money does not keep the
 * order open. The order ends as usual, and the reversal continues independently.
 */
export function transition<Type extends CommandType>(
  order: OrderInFull,
  command: { readonly type: Type } & CommandOf<Type>,
  now: Date,
): Result<Changed, RejectionOf<Type>> {
  switch (order.status) {
    case 'PENDING': {
      const decided = rules[command.type](order, command, now);
      return decided.ok ? ok(withDecision(decided.value, order, command)) : decided;
    }
    case 'COMPLETED':
    case 'FAILED':
    case 'EXPIRED':
      return err({ type: 'order_is_final', status: order.status });
    default:
      return unreachable(order.status);
  }
}

function withDecision(
  { order, events }: Changed,
  before: OrderInFull,
  command: { readonly type: CommandType; readonly origin?: AttemptOrigin; readonly isUnsent?: boolean },
): Changed {
  const { latestAttempt, strayMoney, payerPays = false } = before;
  const decision: DecisionRecord = {
    command: command.type,
    attemptBefore:
      latestAttempt === null ? null : { status: latestAttempt.status, updatedAt: latestAttempt.updatedAt },
    attemptOrigin: command.origin ?? null,
    strayMoney,
    payerPays,
    isUnsent: command.isUnsent ?? false,
  };
  return { order, events: events.map((event) => ({ ...event, decision })) };
}

/** Checks for an attempt in progress before the session's end, so that a repeated request finds its own attempt. */
function startPayment(
  order: OrderInFull,
  command: CommandOf<'start_payment'>,
  now: Date,
): Result<Changed, PendingRejections['start_payment']> {
  const { attemptId, origin, paymentOption, phone } = command;
  if (order.paymentType === 'DIRECT' && paymentOption.endsWith('_wallet')) {
    return err({ type: 'option_not_allowed' });
  }
  const { latestAttempt } = order;
  if (latestAttempt !== null && (latestAttempt.status === 'REQUESTED' || mayHoldMoney(latestAttempt))) {
    return err({ type: 'payment_in_progress', attemptId: latestAttempt.id });
  }
  const held = moneyNotReturned(order);
  if (held !== undefined) return err({ type: 'money_not_returned', attemptId: held.attemptId });
  if (sessionEnded(order, now)) return err({ type: 'session_ended' });
  if (order.attemptCount >= maxAttempts) return err({ type: 'too_many_attempts', limit: maxAttempts });

  const attempt: PaymentAttempt = {
    id: attemptId,
    status: 'REQUESTED',
    origin,
    paymentOption,
    phone: phone.e164,
    createdAt: now,
    updatedAt: now,
    declineReason: null,
  };
  const customerPhone = order.customerPhone.e164 === '' ? phone : order.customerPhone;
  const change = {
    attemptCount: order.attemptCount + 1,
    latestAttempt: attempt,
    earlierAttempts: withLatest(order),
    customerPhone,
  };
  return ok(recordChange(order, change, 'PAYMENT_STARTED', attempt, now));
}

/**
 * Completes the order by money that has already moved. It does so even after the session's end, and while other money of the
 * order is being returned. It waits while an attempt may still take money, because that attempt could pay the order a second time.
 * An attempt that was never sent ends.
 */
function receivePayment(
  order: OrderInFull,
  { attemptId, paymentOption, debited }: CommandOf<'receive_payment'>,
  now: Date,
): Result<Changed, PendingRejections['receive_payment']> {
  const { latestAttempt } = order;
  if (!Money.equal(debited, order.amount)) return err({ type: 'amount_mismatch' });
  if (latestAttempt !== null && mayHoldMoney(latestAttempt)) {
    return err({ type: 'payment_in_progress', attemptId: latestAttempt.id });
  }
  const ended =
    latestAttempt?.status === 'REQUESTED' ? movedTo(latestAttempt, 'TIMED_OUT', now) : latestAttempt;
  const attempt: PaymentAttempt = {
    id: attemptId,
    status: 'SUCCEEDED',
    origin: 'PAYER',
    paymentOption,
    phone: '',
    createdAt: now,
    updatedAt: now,
    declineReason: null,
  };
  const change = {
    status: 'COMPLETED',
    deductedMinorUnits: debited.minorUnits,
    attemptCount: order.attemptCount + 1,
    latestAttempt: attempt,
    earlierAttempts: withLatest({ ...order, latestAttempt: ended }),
  } as const;
  return ok(recordChange(order, change, 'COMPLETED', attempt, now));
}

const withLatest = ({ earlierAttempts, latestAttempt }: OrderInFull): readonly PaymentAttempt[] =>
  latestAttempt === null ? earlierAttempts : [...earlierAttempts, latestAttempt];

function sendAttempt(
  order: OrderInFull,
  { attemptId }: CommandOf<'send_attempt'>,
  now: Date,
): Result<Changed, PendingRejections['send_attempt']> {
  const attempt = order.latestAttempt;
  if (attempt?.id !== attemptId) return err({ type: 'unknown_attempt' });
  switch (attempt.status) {
    case 'REQUESTED':
      // An order that can no longer be paid must not prompt a payer. It expires together with the attempt.
      if (sessionEnded(order, now)) return err({ type: 'session_ended' });
      // Money of an earlier attempt was found after this one started. This one ends before the wallet gets a request.
      return moneyNotReturned(order) === undefined
        ? changeWithoutEvent(order, movedTo(attempt, 'SENT', now))
        : ok(endUnpaid(order, movedTo(attempt, 'TIMED_OUT', now), now));
    case 'SENT':
    case 'UNKNOWN':
      return err({ type: 'attempt_already_sent' });
    case 'SUCCEEDED':
    case 'DECLINED':
    case 'TIMED_OUT':
      return err({ type: 'attempt_is_final', status: attempt.status });
    default:
      return unreachable(attempt.status);
  }
}

/** Applies a wallet's answer to the order's latest attempt, if the wallet has not decided it yet. */
function applyAnswer<Rejection>(
  { latestAttempt: attempt }: OrderInFull,
  attemptId: AttemptId,
  decide: (attempt: PaymentAttempt) => Result<Changed, Rejection>,
): Result<Changed, Rejection | Rejected<NotAtWallet>> {
  if (attempt?.id !== attemptId) return err({ type: 'unknown_attempt' });
  switch (attempt.status) {
    case 'REQUESTED':
      return err({ type: 'attempt_not_sent' });
    case 'SENT':
    case 'UNKNOWN':
      return decide(attempt);
    case 'SUCCEEDED':
    case 'DECLINED':
    case 'TIMED_OUT':
      return err({ type: 'attempt_is_final', status: attempt.status });
    default:
      return unreachable(attempt.status);
  }
}

/** Completes the order even after the session's end, because the money has been debited. */
function completeOrder(
  order: OrderInFull,
  attempt: PaymentAttempt,
  debited: Money,
  now: Date,
): Result<Changed, Rejected<'amount_mismatch'>> {
  if (!Money.equal(debited, order.amount)) return err({ type: 'amount_mismatch' });
  const succeeded = movedTo(attempt, 'SUCCEEDED', now);
  const change = {
    status: 'COMPLETED',
    deductedMinorUnits: debited.minorUnits,
    latestAttempt: succeeded,
  } as const;
  return ok(recordChange(order, change, 'COMPLETED', succeeded, now));
}

/**
 * `attempt` ended without money. A hosted order stays open for another try. A DIRECT order has only one try. An order whose payer's
 * own payment is being confirmed stays open for that payment, and otherwise expires.
 */
function endUnpaid(order: OrderInFull, attempt: PaymentAttempt, now: Date): Changed {
  const isLast = order.paymentType === 'DIRECT' || order.attemptCount >= maxAttempts;
  return isLast && order.payerPays !== true
    ? recordChange(order, { status: 'FAILED', latestAttempt: attempt }, 'FAILED', attempt, now)
    : recordChange(order, { latestAttempt: attempt }, 'PAYMENT_DECLINED', attempt, now);
}

/** Ends an order without money. An attempt that was never sent ends with it. Any other attempt may hold money and prevents it. */
function closeUnpaid(
  order: OrderInFull,
  status: 'FAILED' | 'EXPIRED',
  now: Date,
): Result<Changed, Rejected<'payment_in_progress'>> {
  const { latestAttempt } = order;
  if (latestAttempt !== null && mayHoldMoney(latestAttempt)) {
    return err({ type: 'payment_in_progress', attemptId: latestAttempt.id });
  }
  if (latestAttempt?.status !== 'REQUESTED') return ok(recordChange(order, { status }, status, null, now));
  const ended = movedTo(latestAttempt, 'TIMED_OUT', now);
  return ok(recordChange(order, { status, latestAttempt: ended }, status, ended, now));
}

/** The session's last instant is the one before `expiresAt`. */
function sessionEnded(order: Order, now: Date): boolean {
  return now.getTime() >= order.expiresAt.getTime();
}

function mayHoldMoney({ status }: PaymentAttempt): boolean {
  return status === 'SENT' || status === 'UNKNOWN' || status === 'SUCCEEDED';
}

function movedTo(attempt: PaymentAttempt, status: PaymentAttemptStatus, now: Date): PaymentAttempt {
  return attempt.status === status ? attempt : { ...attempt, status, updatedAt: now };
}

/** A step of the attempt between the gateway and the wallet only. It adds no event. */
function changeWithoutEvent(order: OrderInFull, latestAttempt: PaymentAttempt): Result<Changed, never> {
  return ok({ order: { ...order, latestAttempt }, events: [] });
}

type Change = Partial<
  Pick<
    OrderInFull,
    'status' | 'deductedMinorUnits' | 'attemptCount' | 'latestAttempt' | 'earlierAttempts' | 'customerPhone'
  >
>;

function recordChange(
  before: OrderInFull,
  change: Change,
  type: OrderEventType,
  attempt: PaymentAttempt | null,
  now: Date,
): Changed {
  const sequence = before.lastEventSequence + 1;
  const updatedAt = change.status === undefined ? before.updatedAt : now;
  const order: OrderInFull = { ...before, ...change, updatedAt, lastEventSequence: sequence };
  const event = { type, sequence, occurredAt: now, previousStatus: before.status, order, attempt };
  return { order, events: [event] };
}
