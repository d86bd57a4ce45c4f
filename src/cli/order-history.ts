import {
  OrderEventType,
  OrderEventTypeSchema,
  PaymentAttemptStatusSchema,
  PaymentOptionSchema,
} from '../gen/gatehouse/v1/order_pb.js';
import type { Order, OrderEvent, PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';
import { wordOf } from './plain-json.ts';
import { table } from './table.ts';
import { showTime } from './time.ts';

/** An order's payment attempts, oldest first, each as the latest event about it left it. */
export function attemptsOf(events: readonly OrderEvent[]): readonly PaymentAttempt[] {
  const latest = new Map<string, PaymentAttempt>();
  for (const { paymentAttempt } of events) {
    if (paymentAttempt !== undefined) latest.set(paymentAttempt.paymentAttemptId, paymentAttempt);
  }
  return [...latest.values()];
}

const optionOf = ({ paymentOption }: PaymentAttempt): string =>
  wordOf(PaymentOptionSchema, paymentOption) ?? '';

/** Where an attempt stands and, when it was declined, why. */
export function showAttemptStatus({ status, declineReason }: PaymentAttempt): string {
  const word = wordOf(PaymentAttemptStatusSchema, status) ?? '';
  return declineReason === '' ? word : `${word}: ${declineReason}`;
}

export function showAttempts(attempts: readonly PaymentAttempt[], width: number): string {
  const columns = [
    { head: 'ATTEMPT', gives: true },
    { head: 'STATUS' },
    { head: 'OPTION' },
    { head: 'PHONE' },
    { head: 'STARTED' },
  ];
  const rows = attempts.map((attempt) => [
    attempt.declineReason === ''
      ? attempt.paymentAttemptId
      : `${attempt.paymentAttemptId}\n${attempt.declineReason}`,
    wordOf(PaymentAttemptStatusSchema, attempt.status) ?? '',
    optionOf(attempt),
    attempt.phone,
    showTime(attempt.createTime),
  ]);
  return table(columns, rows, width);
}

/** What an event means, in a few words. */
function tell({ type, order, paymentAttempt }: OrderEvent): string {
  switch (type) {
    case OrderEventType.CREATED:
      return order === undefined ? 'registered' : `registered: ${amountOf(order)}`;
    case OrderEventType.PAYMENT_STARTED:
      return paymentAttempt === undefined
        ? 'payment started'
        : `payment by ${optionOf(paymentAttempt)} from ${paymentAttempt.phone} started`;
    case OrderEventType.PAYMENT_DECLINED:
      return paymentAttempt === undefined
        ? 'not paid'
        : `not paid: attempt ${showAttemptStatus(paymentAttempt)}`;
    case OrderEventType.COMPLETED:
      return order === undefined ? 'paid' : `paid: ${order.deducted} ${order.currency} deducted`;
    case OrderEventType.FAILED:
      return paymentAttempt === undefined ? 'failed' : `failed: attempt ${showAttemptStatus(paymentAttempt)}`;
    case OrderEventType.EXPIRED:
      return 'the time to pay ran out';
    case OrderEventType.UNSPECIFIED:
      return '';
  }
}

const amountOf = ({ amount, currency, expireTime }: Order): string =>
  `${amount} ${currency}, to be paid by ${showTime(expireTime)}`;

/** The events as a timeline, oldest first. Says so when the order has newer ones than can be listed already. */
export function showTimeline(
  { lastEventSequence }: Order,
  events: readonly OrderEvent[],
  width: number,
): string {
  const columns = [
    { head: 'TIME' },
    { head: '#' },
    { head: 'EVENT' },
    { head: 'WHAT HAPPENED', gives: true },
  ];
  const rows = events.map((event) => [
    showTime(event.occurTime),
    String(event.sequence),
    wordOf(OrderEventTypeSchema, event.type) ?? '',
    event.requestId === '' ? tell(event) : `${tell(event)}\nrequest ${event.requestId}`,
  ]);
  const isWhole = (events.at(-1)?.sequence ?? 0n) >= lastEventSequence;
  const waiting = `Up to event ${lastEventSequence} there are newer ones, listed as soon as older transactions end: look again.`;
  return isWhole ? table(columns, rows, width) : `${table(columns, rows, width)}\n${waiting}`;
}
