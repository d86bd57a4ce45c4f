import { timestampDate } from '@bufbuild/protobuf/wkt';
import {
  Environment as EnvironmentMessage,
  OrderEventType,
  OrderStatus,
} from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { orderToJson } from '../../merchant-api/order-json.ts';
import type { PaymentOrderJson } from '../../merchant-api/order-json.ts';
import type { WebhookJson } from '../../merchant-api/webhook-json.ts';
import type { Environment, WebhookEventType } from '../domain/delivery.ts';

const environmentWords: Readonly<Record<Environment, 'sandbox' | 'production'>> = {
  SANDBOX: 'sandbox',
  PRODUCTION: 'production',
};

/** What merchants are told of, by the events of core; the others are steps on the way. */
const typesOfEnds = new Map<OrderEventType, WebhookEventType>([
  [OrderEventType.COMPLETED, 'order.completed'],
  [OrderEventType.FAILED, 'order.failed'],
  [OrderEventType.EXPIRED, 'order.expired'],
]);

/** The type under which merchants are told of an event; undefined when it did not end the order. */
export const webhookEventType = ({ type }: OrderEvent): WebhookEventType | undefined => typesOfEnds.get(type);

/** @throws TypeError when the event has no order in an environment, which no stored event lacks. */
export function environmentOf({ eventId, order }: OrderEvent): Environment {
  if (order?.environment === EnvironmentMessage.SANDBOX) return 'SANDBOX';
  if (order?.environment === EnvironmentMessage.PRODUCTION) return 'PRODUCTION';
  throw new TypeError(`event ${eventId} has no order in an environment that this build knows`);
}

/**
 * The bytes that tell a merchant of an order's event: frozen with the delivery, never written a second time. `data` is
 * exactly what verify answers for the order as the event left it.
 * @throws TypeError when the event lacks what every stored event has, or is of a type merchants are not told of.
 */
export function eventBody(event: OrderEvent): Buffer {
  const type = webhookEventType(event);
  const { order, occurTime } = event;
  if (type === undefined || order === undefined || occurTime === undefined)
    throw new TypeError(
      `event ${event.eventId} cannot be told: it ended no order, or lacks the order or the time`,
    );
  return bytesOf({
    id: event.eventId,
    type,
    created_at: timestampDate(occurTime).toISOString(),
    environment: environmentWords[environmentOf(event)],
    sequence: Number(event.sequence),
    previous_status: OrderStatus[event.previousStatus],
    data: orderToJson(order),
  });
}

/** Sorts before every order there is, and is none. */
const noOrder = 'ord_00000000000000000000000000';

/**
 * The bytes of a `webhook.test`: shaped like any other event, about an order that does not exist and that nothing
 * happened to, so that a receiver which forgets to look at the type takes no harm from it.
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

const bytesOf = (webhook: WebhookJson<PaymentOrderJson>): Buffer => Buffer.from(JSON.stringify(webhook));
