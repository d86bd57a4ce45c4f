import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { isPublicId } from '../../contract/public-id.ts';
import type {
  Order as OrderMessage,
  OrderEvent as OrderEventMessage,
  PaymentAttempt as AttemptMessage,
} from '../../gen/gatehouse/v1/order_pb.js';
import { orderOf } from '../database/order-rows.ts';
import type {
  AttemptId,
  AttemptOrigin,
  DeclineReason,
  Order,
  OrderInFull,
  PaymentAttempt,
  StrayMoney,
} from '../domain/order.ts';
import { orderColumns, originOf } from '../payments/changes/lost-order.ts';
import { attemptStatusOf, paymentOptionOf } from '../rpc/order-messages.ts';

/** The facts of an order's events so far that the next decision needs. */
export interface OpenPast {
  readonly type: 'open';
  /** The number of the last event. */
  readonly sequence: number;
  readonly order: OrderMessage;
  /** Oldest first, each as the last event about it left it. */
  readonly attempts: readonly PaymentAttempt[];
}

/** @throws TypeError for a missing value, and for one that this version does not know */
export function requireKnown<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new TypeError(`the event has no ${what} that this version knows`);
  return value;
}

export const timeIn = (time: Timestamp | undefined, what: string): Date =>
  timestampDate(requireKnown(time, what));

function attemptId(text: string): AttemptId {
  if (!isPublicId('pat', text)) throw new TypeError('the event has no id of an attempt');
  return text;
}

/** @throws TypeError for a value that this version does not know */
function attemptIn(message: AttemptMessage, origin: AttemptOrigin): PaymentAttempt {
  return {
    id: attemptId(message.paymentAttemptId),
    status: requireKnown(attemptStatusOf(message.status), 'attempt status'),
    origin,
    paymentOption: requireKnown(paymentOptionOf(message.paymentOption), 'payment_option'),
    phone: message.phone,
    createdAt: timeIn(message.createTime, 'create_time'),
    updatedAt: timeIn(message.updateTime, 'update_time'),
    declineReason: message.declineReason === '' ? null : (message.declineReason as DeclineReason),
  };
}

/** The order of a message, as registration left it: without attempts. @throws TypeError */
export const orderIn = (message: OrderMessage): Order =>
  orderOf({ ...orderColumns(message), attemptCount: 0, latestAttemptId: null }, null);

/** The facts that the events after `event` need. */
export function pastAfter(event: OrderEventMessage, before: OpenPast | undefined): OpenPast {
  const attempts = before?.attempts ?? [];
  const order = requireKnown(event.order, 'order');
  const sequence = Number(event.sequence);
  const { paymentAttempt: message } = event;
  if (message === undefined) return { type: 'open', sequence, order, attempts };
  const earlier = attempts.find(({ id }) => id === message.paymentAttemptId);
  const attempt = attemptIn(message, earlier?.origin ?? originOf(event));
  return {
    type: 'open',
    sequence,
    order,
    attempts:
      earlier === undefined
        ? [...attempts, attempt]
        : attempts.map((each) => (each.id === attempt.id ? attempt : each)),
  };
}

/** The order that the decision of `event` met. @throws TypeError */
export function orderBefore(past: OpenPast, event: OrderEventMessage): OrderInFull {
  const { decision } = event;
  const last = past.attempts.at(-1);
  const recorded = decision === undefined ? undefined : attemptStatusOf(decision.attemptStatus);
  const latestAttempt =
    last === undefined || decision === undefined || recorded === undefined
      ? sentIfDecided(last, event)
      : {
          ...last,
          status: recorded,
          updatedAt: timeIn(decision.attemptUpdateTime, 'attempt_update_time'),
        };
  return {
    ...orderIn(past.order),
    attemptCount: past.attempts.length,
    latestAttempt,
    earlierAttempts: past.attempts.slice(0, -1),
    payerPays: decision?.payerPays ?? false,
    strayMoney: (decision?.strayMoney ?? []).map(
      ({ paymentAttemptId, amount, currency, status, findTime }) => ({
        attemptId: attemptId(paymentAttemptId),
        amount,
        currency,
        status: requireKnown(strayStatuses[status], 'status of stray money'),
        foundAt: timeIn(findTime, 'find_time'),
      }),
    ),
  };
}

const strayStatuses: Readonly<Record<string, StrayMoney['status']>> = {
  reversal_due: 'REVERSAL_DUE',
  reversed: 'REVERSED',
  reversal_refused: 'REVERSAL_REFUSED',
};

/** Events of earlier versions do not record that an attempt was sent. An attempt that a wallet decided was sent. */
function sentIfDecided(
  last: PaymentAttempt | undefined,
  { decision, paymentAttempt }: OrderEventMessage,
): PaymentAttempt | null {
  if (last === undefined) return null;
  const status = paymentAttempt && attemptStatusOf(paymentAttempt.status);
  const isDecided =
    decision === undefined &&
    paymentAttempt?.paymentAttemptId === last.id &&
    (status === 'SUCCEEDED' || status === 'DECLINED');
  return isDecided && last.status === 'REQUESTED' ? { ...last, status: 'SENT' } : last;
}
