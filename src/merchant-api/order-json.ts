import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { OrderStatus, PaymentType } from '../gen/gatehouse/v1/order_pb.js';
import type { Order } from '../gen/gatehouse/v1/order_pb.js';
import { isoTime } from './iso-time.ts';
import { optionPattern } from './payment-option.ts';

/**
 * A payment order as merchants see it, in verify and in webhooks. Twelve fields, in the order of
 * docs/merchant-api.md, "Verify an order".
 */
export const paymentOrderSchema = Type.Object(
  {
    order_id: Type.String({
      description: 'Assigned by Gatehouse when the order is registered.',
      examples: ['ord_01jd2x8m5vf7e8r0c3q6t9w1ya'],
    }),
    order_number: Type.String({
      description: 'Your own reference of the order.',
      examples: ['INV-2025-0042'],
    }),
    status: Type.Unsafe<OrderStatusName>({
      type: 'string',
      enum: ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED'],
      description:
        'PENDING until the payment is decided. COMPLETED, FAILED and EXPIRED are final: they never change again.',
      examples: ['PENDING'],
    }),
    amount: Type.String({
      description: 'The amount exactly as you sent it, decimal text.',
      examples: ['100.50'],
    }),
    deducted: Type.String({
      description: 'The amount that the wallet debited, decimal text; zero until the order is COMPLETED.',
      examples: ['0.00'],
    }),
    currency: Type.String({ description: 'ISO 4217 code.', examples: ['ETB'] }),
    payment_option: Type.String({
      pattern: `${optionPattern}|^$`,
      description:
        "The option of the latest payment attempt: the wallet's id with _ussd or _wallet. Empty until one has been chosen.",
      examples: ['walleta_ussd'],
    }),
    payment_type: Type.Unsafe<PaymentTypeName>({
      type: 'string',
      enum: ['LINK', 'QR', 'DIRECT', 'API'],
      description:
        'API: registered for the hosted checkout. DIRECT: a direct payment. LINK, QR: a payment link.',
      examples: ['API'],
    }),
    customer_phone: Type.String({
      description:
        "The customer's phone number exactly as you sent it. `erased` after the operator has erased personal data.",
      examples: ['0911223344'],
    }),
    reason: Type.String({
      description: 'The purpose of the payment. Empty for a direct payment, `erased` after an erasure.',
      examples: ['Invoice 42'],
    }),
    created_timestamp: Type.String({
      format: 'date-time',
      description: 'When the order was registered: ISO 8601 in UTC with milliseconds.',
      examples: ['2025-11-20T09:30:00.000Z'],
    }),
    updated_timestamp: Type.String({
      format: 'date-time',
      description:
        'The time of the last change of status, or of the registration if the status has never changed.',
      examples: ['2025-11-20T09:30:00.000Z'],
    }),
  },
  { $id: 'PaymentOrder', title: 'Payment order' },
);

export type PaymentOrderJson = Static<typeof paymentOrderSchema>;

export type OrderStatusName = 'PENDING' | 'COMPLETED' | 'FAILED' | 'EXPIRED';
type PaymentTypeName = 'LINK' | 'QR' | 'DIRECT' | 'API';

const statusNames: Readonly<Record<OrderStatus, OrderStatusName | undefined>> = {
  [OrderStatus.UNSPECIFIED]: undefined,
  [OrderStatus.PENDING]: 'PENDING',
  [OrderStatus.COMPLETED]: 'COMPLETED',
  [OrderStatus.FAILED]: 'FAILED',
  [OrderStatus.EXPIRED]: 'EXPIRED',
};

/** The status of an order, as merchants see it. @throws TypeError for a status that no stored order has */
export const orderStatusName = (order: Pick<Order, 'orderId' | 'status'>): OrderStatusName =>
  requireField(statusNames[order.status], order, 'status');

const paymentTypeNames: Readonly<Record<PaymentType, PaymentTypeName | undefined>> = {
  [PaymentType.UNSPECIFIED]: undefined,
  [PaymentType.LINK]: 'LINK',
  [PaymentType.QR]: 'QR',
  [PaymentType.DIRECT]: 'DIRECT',
  [PaymentType.API]: 'API',
};

/**
 * Writes an order as merchants see it.
 * @throws TypeError when the order lacks a status, a payment type or a time, which every stored order has
 */
export function orderToJson(order: Order): PaymentOrderJson {
  return {
    order_id: order.orderId,
    order_number: order.orderNumber,
    status: orderStatusName(order),
    amount: order.amount,
    deducted: order.deducted,
    currency: order.currency,
    payment_option: order.paymentOption,
    payment_type: requireField(paymentTypeNames[order.paymentType], order, 'payment_type'),
    customer_phone: order.customerPhone,
    reason: order.reason,
    created_timestamp: isoTime(requireField(order.createTime, order, 'create_time')),
    updated_timestamp: isoTime(requireField(order.updateTime, order, 'update_time')),
  };
}

function requireField<T>(value: T | undefined, order: Pick<Order, 'orderId'>, field: string): T {
  if (value === undefined) throw new TypeError(`order ${order.orderId} has no ${field} that can be shown`);
  return value;
}
