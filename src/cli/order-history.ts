import {
  OrderEventType,
  OrderEventTypeSchema,
  PaymentAttemptStatus,
  PaymentAttemptStatusSchema,
} from '../gen/gatehouse/v1/order_pb.js';
import type { Order, OrderEvent, PaymentAttempt, Refund } from '../gen/gatehouse/v1/order_pb.js';
import type { PaymentAttemptStory } from '../gen/gatehouse/v1/order_story_service_pb.js';
import { endedUnsent } from '../contract/ended-unsent.ts';
import { isCancellation } from '../contract/is-cancellation.ts';
import { wordOf } from './plain-json.ts';
import { table } from './table.ts';
import { showTime } from './time.ts';

/** The status of an attempt and, if it was declined, the reason. */
export function showAttemptStatus({ status, declineReason }: PaymentAttempt): string {
  const word = wordOf(PaymentAttemptStatusSchema, status) ?? '';
  return declineReason === '' ? word : `${word}: ${declineReason}`;
}

/** The status of an attempt that is SENT or TIMED_OUT, although the wallet certainly has not got its request. */
export const notAtWallet = 'not received by the wallet';

/** The ids of the attempts whose request the wallet certainly does not have. An attempt that still waits to be sent is left out. */
export const unsentIn = (stories: readonly PaymentAttemptStory[]): ReadonlySet<string> =>
  new Set(
    stories.flatMap(({ paymentAttempt, unsent }) =>
      paymentAttempt !== undefined && unsent && paymentAttempt.status !== PaymentAttemptStatus.REQUESTED
        ? [paymentAttempt.paymentAttemptId]
        : [],
    ),
  );

/**
 * The attempts as a table.
 * @param unsent - the ids of the attempts whose request the wallet certainly does not have
 * @param details - by the id of an attempt, why the wallet's latest answer decided nothing
 */
export function showAttempts(
  attempts: readonly PaymentAttempt[],
  width: number,
  unsent: ReadonlySet<string> = new Set(),
  details: ReadonlyMap<string, string> = new Map(),
): string {
  const columns = [
    { head: 'ATTEMPT', wraps: true },
    { head: 'STATUS' },
    { head: 'OPTION' },
    { head: 'PHONE' },
    { head: 'STARTED' },
  ];
  const notesOf = ({ paymentAttemptId: id, declineReason }: PaymentAttempt): string[] =>
    [unsent.has(id) ? notAtWallet : declineReason, details.get(id) ?? ''].filter((note) => note !== '');
  const rows = attempts.map((attempt) => [
    [attempt.paymentAttemptId, ...notesOf(attempt)].join('\n'),
    wordOf(PaymentAttemptStatusSchema, attempt.status) ?? '',
    attempt.paymentOption,
    attempt.phone,
    showTime(attempt.createTime),
  ]);
  return table(columns, rows, width);
}

/** Describes an event in a few words. */
function describeEvent(event: OrderEvent): string {
  const { type, order, paymentAttempt, refund, strayPaymentId } = event;
  switch (type) {
    case OrderEventType.CREATED:
      return order === undefined ? 'registered' : `registered: ${amountOf(order)}`;
    case OrderEventType.PAYMENT_STARTED:
      return paymentAttempt === undefined
        ? 'payment started'
        : `payment by ${paymentAttempt.paymentOption} from ${paymentAttempt.phone} started`;
    case OrderEventType.PAYMENT_DECLINED:
      return paymentAttempt === undefined ? 'not paid' : `not paid: ${endOf(event, paymentAttempt)}`;
    case OrderEventType.COMPLETED:
      return order === undefined ? 'paid' : `paid: ${order.deducted} ${order.currency} deducted`;
    case OrderEventType.FAILED:
      return paymentAttempt === undefined || isCancellation(event)
        ? 'cancelled'
        : `failed: ${endOf(event, paymentAttempt)}`;
    case OrderEventType.EXPIRED:
      return 'the time to pay expired';
    case OrderEventType.REFUND_REQUESTED:
      return describeRefund(refund, 'requested');
    case OrderEventType.REFUND_APPROVED:
      return describeRefund(refund, 'approved');
    case OrderEventType.REFUND_COMPLETED:
      return describeRefund(refund, 'completed');
    case OrderEventType.REFUND_FAILED:
      return describeRefund(refund, 'failed');
    case OrderEventType.STRAY_PAYMENT_SETTLED:
      return `stray payment ${strayPaymentId} settled by operators`;
    case OrderEventType.UNSPECIFIED:
      return '';
  }
}

function endOf(event: OrderEvent, attempt: PaymentAttempt): string {
  if (endedUnsent(event)) return 'not sent, earlier money was not returned yet';
  if (event.decision?.unsent === true) return 'not sent, the wallet was not reached in time';
  return `attempt ${showAttemptStatus(attempt)}`;
}

function describeRefund(refund: Refund | undefined, what: string): string {
  if (refund === undefined) return `refund ${what}`;
  const { refundNumber, amount, currency, failureReason } = refund;
  const reason = failureReason === '' ? '' : `: ${failureReason}`;
  return `refund ${refundNumber} of ${amount} ${currency} ${what}${reason}`;
}

const amountOf = ({ amount, currency, expireTime }: Order): string =>
  `${amount} ${currency}, to be paid by ${showTime(expireTime)}`;

/** The events as a timeline, oldest first. It ends with a note if the order has newer events that cannot be listed yet. */
export function showTimeline(
  { lastEventSequence }: Order,
  events: readonly OrderEvent[],
  width: number,
): string {
  const columns = [{ head: 'TIME' }, { head: '#' }, { head: 'EVENT' }, { head: 'DETAILS', wraps: true }];
  const rows = events.map((event) => [
    showTime(event.occurTime),
    String(event.sequence),
    wordOf(OrderEventTypeSchema, event.type) ?? '',
    event.requestId === '' ? describeEvent(event) : `${describeEvent(event)}\nrequest ${event.requestId}`,
  ]);
  const isWhole = (events.at(-1)?.sequence ?? 0n) >= lastEventSequence;
  const waiting = `Newer events, up to event ${lastEventSequence}, are listed when older transactions have ended. Run the command again.`;
  return isWhole ? table(columns, rows, width) : `${table(columns, rows, width)}\n${waiting}`;
}
