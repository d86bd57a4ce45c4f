import { isPaymentOption } from '../../contract/payment-option.ts';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  OrderDecisionSchema,
  OrderEventSchema,
  OrderEventType as OrderEventTypeMessage,
  OrderSchema,
  OrderStatus as OrderStatusMessage,
  PaymentAttemptSchema,
  PaymentAttemptStatus as PaymentAttemptStatusMessage,
  PaymentType as PaymentTypeMessage,
} from '../../gen/gatehouse/v1/order_pb.js';
import type {
  Order as OrderMessage,
  OrderEvent as OrderEventMessage,
  PaymentAttempt as PaymentAttemptMessage,
} from '../../gen/gatehouse/v1/order_pb.js';
import { Money } from '../domain/money.ts';
import type {
  DecisionRecord,
  Order,
  OrderEvent,
  OrderEventType,
  OrderStatus,
  PaymentAttempt,
  PaymentAttemptStatus,
  PaymentOption,
  PaymentType,
} from '../domain/order.ts';
import { wordOf } from './enum-words.ts';
import { environmentNumbers } from './environment.ts';
import { refundMessage } from './refund-message.ts';

/*
 * The contract's number of each domain value. The type makes each table complete. Requests are read by the reversed table,
 * so a value that only one side has does not compile.
 */

const statuses = {
  PENDING: OrderStatusMessage.PENDING,
  COMPLETED: OrderStatusMessage.COMPLETED,
  FAILED: OrderStatusMessage.FAILED,
  EXPIRED: OrderStatusMessage.EXPIRED,
} as const satisfies Record<OrderStatus, OrderStatusMessage>;

const paymentTypes = {
  LINK: PaymentTypeMessage.LINK,
  QR: PaymentTypeMessage.QR,
  DIRECT: PaymentTypeMessage.DIRECT,
  API: PaymentTypeMessage.API,
} as const satisfies Record<PaymentType, PaymentTypeMessage>;

const attemptStatuses = {
  REQUESTED: PaymentAttemptStatusMessage.REQUESTED,
  SENT: PaymentAttemptStatusMessage.SENT,
  UNKNOWN: PaymentAttemptStatusMessage.UNKNOWN,
  SUCCEEDED: PaymentAttemptStatusMessage.SUCCEEDED,
  DECLINED: PaymentAttemptStatusMessage.DECLINED,
  TIMED_OUT: PaymentAttemptStatusMessage.TIMED_OUT,
} as const satisfies Record<PaymentAttemptStatus, PaymentAttemptStatusMessage>;

const eventTypes = {
  CREATED: OrderEventTypeMessage.CREATED,
  PAYMENT_STARTED: OrderEventTypeMessage.PAYMENT_STARTED,
  PAYMENT_DECLINED: OrderEventTypeMessage.PAYMENT_DECLINED,
  COMPLETED: OrderEventTypeMessage.COMPLETED,
  FAILED: OrderEventTypeMessage.FAILED,
  EXPIRED: OrderEventTypeMessage.EXPIRED,
  REFUND_REQUESTED: OrderEventTypeMessage.REFUND_REQUESTED,
  REFUND_APPROVED: OrderEventTypeMessage.REFUND_APPROVED,
  REFUND_COMPLETED: OrderEventTypeMessage.REFUND_COMPLETED,
  REFUND_FAILED: OrderEventTypeMessage.REFUND_FAILED,
  STRAY_PAYMENT_SETTLED: OrderEventTypeMessage.STRAY_PAYMENT_SETTLED,
} as const satisfies Record<OrderEventType, OrderEventTypeMessage>;

/** The domain value; undefined for UNSPECIFIED and for numbers unknown to this version. */
export const statusOf = (number: OrderStatusMessage): OrderStatus | undefined => wordOf(statuses, number);
export const attemptStatusOf = (number: PaymentAttemptStatusMessage): PaymentAttemptStatus | undefined =>
  wordOf(attemptStatuses, number);
export const paymentTypeOf = (number: PaymentTypeMessage): PaymentType | undefined =>
  wordOf(paymentTypes, number);
export const eventTypeOf = (number: OrderEventTypeMessage): OrderEventType | undefined =>
  wordOf(eventTypes, number);
export const paymentOptionOf = (text: string): PaymentOption | undefined =>
  isPaymentOption(text) ? text : undefined;

export function orderMessage(order: Order): OrderMessage {
  const { currency } = order.amount;
  return create(OrderSchema, {
    orderId: order.id,
    merchantId: order.merchantId,
    environment: environmentNumbers[order.environment],
    orderNumber: order.orderNumber,
    status: statuses[order.status],
    amount: order.amount.text,
    deducted: Money.formatMinorUnits(order.deductedMinorUnits, currency),
    refunded: Money.formatMinorUnits(order.refundedMinorUnits, currency),
    currency: currency.code,
    paymentOption: order.latestAttempt?.paymentOption ?? '',
    paymentType: paymentTypes[order.paymentType],
    customerPhone: order.customerPhone.asGiven,
    reason: order.reason,
    businessName: order.businessName,
    returnUrl: order.returnUrl,
    webhookUrl: order.webhookUrl,
    createTime: timestampFromDate(order.createdAt),
    updateTime: timestampFromDate(order.updatedAt),
    expireTime: timestampFromDate(order.expiresAt),
    lastEventSequence: BigInt(order.lastEventSequence),
  });
}

export function attemptMessage(order: Pick<Order, 'id'>, attempt: PaymentAttempt): PaymentAttemptMessage {
  return create(PaymentAttemptSchema, {
    paymentAttemptId: attempt.id,
    orderId: order.id,
    status: attemptStatuses[attempt.status],
    paymentOption: attempt.paymentOption,
    phone: attempt.phone,
    createTime: timestampFromDate(attempt.createdAt),
    updateTime: timestampFromDate(attempt.updatedAt),
    declineReason: attempt.declineReason ?? '',
    ...(attempt.walletAccountId === undefined ? {} : { walletAccountId: attempt.walletAccountId ?? '' }),
  });
}

export function eventMessage(
  event: OrderEvent,
  eventId: string,
  requestId: string,
  traceparent = '',
): OrderEventMessage {
  const message = create(OrderEventSchema, {
    eventId,
    type: eventTypes[event.type],
    sequence: BigInt(event.sequence),
    occurTime: timestampFromDate(event.occurredAt),
    previousStatus:
      event.previousStatus === null ? OrderStatusMessage.UNSPECIFIED : statuses[event.previousStatus],
    order: orderMessage(event.order),
    requestId,
    strayPaymentId: event.strayPaymentId ?? '',
    settlementId: event.settlementId ?? '',
    traceparent,
    providerTransactionId: event.providerTransactionId ?? '',
  });
  if (event.refund !== undefined) message.refund = refundMessage(event.refund);
  if (event.attempt !== null) message.paymentAttempt = attemptMessage(event.order, event.attempt);
  if (event.decision !== undefined) message.decision = decisionMessage(event.decision);
  return message;
}

const decisionMessage = ({
  command,
  attemptBefore,
  attemptOrigin,
  strayMoney,
  payerPays,
  isUnsent,
}: DecisionRecord) =>
  create(OrderDecisionSchema, {
    command,
    ...(attemptBefore === null
      ? {}
      : {
          attemptStatus: attemptStatuses[attemptBefore.status],
          attemptUpdateTime: timestampFromDate(attemptBefore.updatedAt),
        }),
    attemptOrigin: attemptOrigin?.toLowerCase() ?? '',
    strayMoney: strayMoney.map(({ attemptId, amount, currency, status, foundAt }) => ({
      paymentAttemptId: attemptId,
      amount,
      currency,
      status: status.toLowerCase(),
      findTime: timestampFromDate(foundAt),
    })),
    payerPays,
    unsent: isUnsent,
  });
