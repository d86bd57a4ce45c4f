import type { PublicId } from '../../contract/public-id.ts';
import { newRandomId } from '../../contract/public-id.ts';
import type { OrderStatusName, PaymentOrderJson } from '../../merchant-api/order-json.ts';

/** A webhook that Gatehouse could send: its id, and the fields of its body. */
export interface MadeUpEvent {
  readonly id: PublicId<'evt'>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface MadeUpOrder {
  readonly order_number: string;
  readonly amount: string;
  readonly currency: string;
  readonly customer_phone: string;
  readonly reason: string;
  readonly payment_type: PaymentOrderJson['payment_type'];
  readonly order_id: PublicId<'ord'>;
  /** When it was registered. */
  readonly createdAt: Date;
}

export const orderTypes = {
  'order.completed': 'COMPLETED',
  'order.failed': 'FAILED',
  'order.expired': 'EXPIRED',
  'payment_link.created': 'PENDING',
  'payment_link.completed': 'COMPLETED',
  'payment_link.failed': 'FAILED',
  'payment_link.expired': 'EXPIRED',
  'webhook.test': 'PENDING',
} as const satisfies Record<string, OrderStatusName>;
export type OrderEventName = keyof typeof orderTypes;

export const refundTypes = { 'refund.completed': 'COMPLETED', 'refund.failed': 'FAILED' } as const;

const minuteMs = 60_000;

/** An order that no merchant has. Its number says where it comes from. */
export function madeUpOrder(now: Date): MadeUpOrder {
  const id = newRandomId('ord', now);
  return {
    order_id: id,
    order_number: `CERTIFY-${id.slice(-12)}`,
    amount: '100.50',
    currency: 'ETB',
    customer_phone: '0911223344',
    reason: 'Certification',
    payment_type: 'API',
    createdAt: new Date(now.getTime() - minuteMs),
  };
}

/** An event of an order or payment link, or a webhook.test about it. `at`: when the event happened. */
export function orderEvent(type: OrderEventName, order: MadeUpOrder, at: Date): MadeUpEvent {
  const status = orderTypes[type];
  const data: PaymentOrderJson = {
    order_id: order.order_id,
    order_number: order.order_number,
    status,
    amount: order.amount,
    deducted: status === 'COMPLETED' ? order.amount : '0.00',
    currency: order.currency,
    payment_option: 'walleta_ussd',
    payment_type: type.startsWith('payment_link.') ? 'LINK' : order.payment_type,
    customer_phone: order.customer_phone,
    reason: order.reason,
    created_timestamp: order.createdAt.toISOString(),
    updated_timestamp: at.toISOString(),
  };
  return eventOf(type, at, data, type === 'payment_link.created' ? '' : 'PENDING');
}

/** The event that ends a refund of an order. */
export function refundEvent(type: keyof typeof refundTypes, order: MadeUpOrder, at: Date): MadeUpEvent {
  const refundId = newRandomId('rfd', at);
  return eventOf(type, at, {
    refund_id: refundId,
    refund_number: `CERTIFY-${refundId.slice(-12)}`,
    order_number: order.order_number,
    status: refundTypes[type],
    amount: order.amount,
    currency: order.currency,
    reason: order.reason,
    created_timestamp: new Date(at.getTime() - minuteMs).toISOString(),
    updated_timestamp: at.toISOString(),
  });
}

/** An event of any type, about anything. */
export function eventOf(type: string, at: Date, data: object, previousStatus = 'PENDING'): MadeUpEvent {
  const id = newRandomId('evt', at);
  return {
    id,
    body: {
      id,
      type,
      created_at: at.toISOString(),
      environment: 'sandbox',
      sequence: 3,
      previous_status: previousStatus,
      data,
    },
  };
}
