import { timestampDate } from '@bufbuild/protobuf/wkt';
import {
  Environment as EnvironmentMessage,
  OrderEventType,
  OrderSchema,
  OrderStatus,
  PaymentType,
} from '../../gen/gatehouse/v1/order_pb.js';
import type { Order, OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { orderToJson } from '../../merchant-api/order-json.ts';
import type { PaymentOrderJson } from '../../merchant-api/order-json.ts';
import { refundToJson } from '../../merchant-api/refund-json.ts';
import type { RefundJson } from '../../merchant-api/refund-json.ts';
import type { WebhookJson } from '../../merchant-api/webhook-json.ts';
import type { Environment } from '../domain/delivery.ts';
import type { SubscribedType } from '../domain/webhook-endpoint.ts';

const environmentWords: Readonly<Record<Environment, 'sandbox' | 'production'>> = {
  SANDBOX: 'sandbox',
  PRODUCTION: 'production',
};

/** The webhook types of an order's or refund's end. */
const typesOfEnds = new Map<OrderEventType, SubscribedType>([
  [OrderEventType.COMPLETED, 'order.completed'],
  [OrderEventType.FAILED, 'order.failed'],
  [OrderEventType.EXPIRED, 'order.expired'],
  [OrderEventType.REFUND_COMPLETED, 'refund.completed'],
  [OrderEventType.REFUND_FAILED, 'refund.failed'],
]);

/** The webhook types of a payment link, which is an order. */
const typesOfLinks = new Map<OrderEventType, SubscribedType>([
  [OrderEventType.CREATED, 'payment_link.created'],
  [OrderEventType.COMPLETED, 'payment_link.completed'],
  [OrderEventType.FAILED, 'payment_link.failed'],
  [OrderEventType.EXPIRED, 'payment_link.expired'],
]);

/** The webhook type of an event; undefined when the event ended neither the order nor a refund. */
export const endType = ({ type }: OrderEvent): SubscribedType | undefined => typesOfEnds.get(type);

/**
 * The webhook types of an event, the most specific one first. Merchants are not notified of an event without any, because it is
 * an intermediate step.
 */
export function webhookTypes(event: OrderEvent): readonly SubscribedType[] {
  const { type, order } = event;
  const isLink = order?.paymentType === PaymentType.LINK || order?.paymentType === PaymentType.QR;
  return [isLink ? typesOfLinks.get(type) : undefined, endType(event)].filter((each) => each !== undefined);
}

/** The types of events without a webhook, or with one only for payment links. Written as in the last part of the broker's subject. */
const wordsWithoutWebhook = new Set(
  Object.values(OrderEventType)
    .filter((type) => typeof type === 'number')
    .filter((type) => type !== OrderEventType.UNSPECIFIED && !typesOfEnds.has(type))
    .map((type) => OrderEventType[type].toLowerCase()),
);
const wordsOfLinks = new Set([...typesOfLinks.keys()].map((type) => OrderEventType[type].toLowerCase()));
/** The tag and the value of Order.payment_type in the encoding of a payment link. Other events can have these bytes by chance. */
const marksOfLinks = [PaymentType.LINK, PaymentType.QR].map((type) =>
  Buffer.from([OrderSchema.field.paymentType.number << 3, type]),
);

/**
 * Whether an event of the broker certainly has no webhook type. Most events have none, and need not be decoded. An event of a type that
 * this version does not know is decoded.
 */
export function isWithoutWebhook(subject: string, body: Uint8Array): boolean {
  const word = subject.slice(subject.lastIndexOf('.') + 1);
  if (!wordsWithoutWebhook.has(word)) return false;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return !wordsOfLinks.has(word) || !marksOfLinks.some((mark) => bytes.includes(mark));
}

/** @throws TypeError when the event has no order in an environment. Every stored event has one. */
export function environmentOf({ eventId, order }: OrderEvent): Environment {
  if (order?.environment === EnvironmentMessage.SANDBOX) return 'SANDBOX';
  if (order?.environment === EnvironmentMessage.PRODUCTION) return 'PRODUCTION';
  throw new TypeError(`event ${eventId} has no order in an environment that this version knows`);
}

/**
 * The body of the webhook for an order's event, under one of its types. It is stored with the delivery and never generated again. `data` equals
 * the answer of verify for the order, or of refund/verify for the refund, at the time of the event.
 * @throws TypeError when the event does not have the type, or is incomplete. Every stored event is complete.
 */
export function eventBody(event: OrderEvent, type: SubscribedType): Buffer {
  const { order, occurTime } = event;
  if (!webhookTypes(event).includes(type) || order === undefined || occurTime === undefined)
    throw new TypeError(
      `event ${event.eventId} has no webhook ${type}: it is another event, or lacks the order or its time`,
    );
  return bytesOf({
    id: event.eventId,
    type,
    created_at: timestampDate(occurTime).toISOString(),
    environment: environmentWords[environmentOf(event)],
    sequence: Number(event.sequence),
    ...subjectOf(event, order),
  });
}

/** A refund's webhook is about the refund. Until it ends, its status for merchants is PENDING. */
function subjectOf(
  { eventId, type, refund, previousStatus }: OrderEvent,
  order: Order,
): Pick<Body, 'previous_status' | 'data'> {
  if (type !== OrderEventType.REFUND_COMPLETED && type !== OrderEventType.REFUND_FAILED)
    return { previous_status: previousStatusName(previousStatus), data: orderToJson(order) };
  if (refund === undefined) throw new TypeError(`event ${eventId} of a refund lacks the refund`);
  return { previous_status: 'PENDING', data: refundToJson(refund) };
}

/** Empty for an order that did not exist before. */
const previousStatusName = (status: OrderStatus): string =>
  status === OrderStatus.UNSPECIFIED ? '' : OrderStatus[status];

/** Sorts before every real order id. */
const noOrder = 'ord_00000000000000000000000000';

/**
 * The body of a `webhook.test`. It has the form of any other event, but its order does not exist and has not changed.
 * So a receiver that ignores the type does no harm.
 */
export function testEventBody(event: {
  readonly eventId: string;
  readonly environment: Environment;
  readonly at: Date;
}): Buffer {
  const time = event.at.toISOString();
  return bytesOf({
    id: event.eventId,
    type: 'webhook.test',
    created_at: time,
    environment: environmentWords[event.environment],
    sequence: 1,
    previous_status: 'PENDING',
    data: {
      order_id: noOrder,
      order_number: 'webhook-test',
      status: 'PENDING',
      amount: '1.00',
      deducted: '0.00',
      currency: 'ETB',
      payment_option: '',
      payment_type: 'API',
      customer_phone: '0900000000',
      reason: 'Webhook test',
      created_timestamp: time,
      updated_timestamp: time,
    },
  });
}

type Body = WebhookJson<PaymentOrderJson | RefundJson>;

const bytesOf = (webhook: Body): Buffer => Buffer.from(JSON.stringify(webhook));
