import { OrderEventType, OrderStatus, PaymentAttemptStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { Order, OrderEvent, PaymentAttempt } from '../../gen/gatehouse/v1/order_pb.js';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { amountText } from '../../contract/amount-text.ts';
import { attemptPhone } from '../../contract/attempt-phone.ts';
import { isCancellation } from '../../contract/is-cancellation.ts';
import { durationText } from '../../platform/language/duration-text.ts';
import { momentOf } from '../moment-text.ts';
import { optionText } from './order-words.ts';
import { reasonOf, reasonOfEvent } from './order-story.ts';
import type { AttemptWriting } from './order-story.ts';

/** The facts of the sentence. */
export interface KnownOfOrder {
  readonly order: Order;
  readonly events: readonly OrderEvent[];
  /** Undefined before the first attempt. */
  readonly latestAttempt: PaymentAttempt | undefined;
  readonly now: Date;
}

/** A wallet that has not decided for so long rarely decides without help, and operators can settle the money. */
const longUndecidedSeconds = 3_600;

/** Whether money that is undecided since `time` waits for a person. */
export const isLongUndecided = (time: Order['createTime'], now: Date): boolean =>
  time !== undefined && now.getTime() - timestampDate(time).getTime() >= longUndecidedSeconds * 1000;

/** The state of an order in one sentence. */
export function orderSummary(known: KnownOfOrder, writing: AttemptWriting): string {
  const { order, events, latestAttempt: attempt } = known;
  const { summary, language, timeZone } = writing;
  const amount = amountText(order.amount, order.currency, language);
  const at = (time: Order['createTime']): string => momentOf(time, language, timeZone)?.text ?? '';
  const ended = at(order.updateTime);
  switch (order.status) {
    case OrderStatus.COMPLETED: {
      const paid = amountText(order.deducted, order.currency, language);
      const phone = attempt && attemptPhone(attempt);
      if (attempt === undefined || phone === undefined) return summary.completed(paid, ended);
      return summary.paid(paid, phone, optionText(attempt.paymentOption, writing), ended);
    }
    case OrderStatus.FAILED: {
      const last = events.findLast(({ type }) => type === OrderEventType.FAILED);
      if (last === undefined) return summary.failed(ended);
      if (last.paymentAttempt === undefined || isCancellation(last)) return summary.cancelled(ended);
      return summary.failedFor(ended, reasonOfEvent(last, writing));
    }
    case OrderStatus.EXPIRED:
      if (attempt !== undefined) return summary.expiredAfter(ended, lastReason(attempt, events, writing));
      return summary.expired(ended);
    default: {
      const until = at(order.expireTime);
      if (attempt !== undefined) return pendingSummary(attempt, known, until, writing);
      return summary.unpaid(amount, until);
    }
  }
}

/** The sentence of a pending order with an attempt. */
function pendingSummary(
  attempt: PaymentAttempt,
  { events, now }: KnownOfOrder,
  until: string,
  writing: AttemptWriting,
): string {
  const { summary } = writing;
  const option = optionText(attempt.paymentOption, writing);
  switch (attempt.status) {
    case PaymentAttemptStatus.UNKNOWN:
      return [summary.unknown(option), ...undecidedFor(attempt, now, writing)].join(' ');
    case PaymentAttemptStatus.DECLINED:
    case PaymentAttemptStatus.TIMED_OUT:
      return summary.declined(lastReason(attempt, events, writing), until);
    default:
      return writing.unsentAttempts.has(attempt.paymentAttemptId)
        ? summary.unsent(attempt.phone, option)
        : summary.asked(attempt.phone, option);
  }
}

/** Why the latest attempt did not pay. Only the event that ended it tells whether it was sent. */
function lastReason(attempt: PaymentAttempt, events: readonly OrderEvent[], writing: AttemptWriting): string {
  const ending = events.findLast(
    (event) =>
      event.type === OrderEventType.PAYMENT_DECLINED &&
      event.paymentAttempt?.paymentAttemptId === attempt.paymentAttemptId,
  );
  return ending === undefined ? reasonOf(attempt, writing) : reasonOfEvent(ending, writing);
}

/** Since when the attempt keeps its order pending, and who can end that. */
function undecidedFor({ createTime }: PaymentAttempt, now: Date, writing: AttemptWriting): string[] {
  if (createTime === undefined) return [];
  const { summary, language, timeZone } = writing;
  const seconds = Math.max(1, Math.floor((now.getTime() - timestampDate(createTime).getTime()) / 1000));
  const since = summary.undecidedSince(
    momentOf(createTime, language, timeZone)?.text ?? '',
    durationText(seconds, language),
  );
  return seconds < longUndecidedSeconds ? [since] : [since, summary.askOperator];
}
