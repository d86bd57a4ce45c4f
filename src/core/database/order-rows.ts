import type { OrderRow, PaymentAttemptRow } from './entities.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import { Currency } from '../domain/currency.ts';
import type { Order, PaymentAttempt } from '../domain/order.ts';

/** A row's values as far as they are the domain's: without what the ORM adds, and without who works on the row. */
export type OrderValues = Omit<OrderRow, symbol | 'checkoutBrowserHash'>;
export type PaymentAttemptValues = Pick<
  PaymentAttemptRow,
  | 'merchantId'
  | 'id'
  | 'environment'
  | 'orderId'
  | 'status'
  | 'origin'
  | 'paymentOption'
  | 'phone'
  | 'declineReason'
  | 'createdAt'
  | 'updatedAt'
>;

/** The order that a row, and the row of its latest attempt, stand for. */
export function orderOf(row: OrderValues, latestAttempt: PaymentAttemptValues | null): Order {
  const currency = Currency.of(row.currency);
  return {
    id: publicId('ord', row.id),
    merchantId: publicId('mer', row.merchantId),
    environment: row.environment,
    orderNumber: row.orderNumber,
    amount: { text: row.amountText, minorUnits: row.amountMinorUnits, currency },
    paymentType: row.paymentType,
    customerPhone: { asGiven: row.customerPhone, e164: row.customerPhoneE164 },
    reason: row.reason,
    businessName: row.businessName,
    returnUrl: row.returnUrl,
    webhookUrl: row.webhookUrl,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    status: row.status,
    deductedMinorUnits: row.deductedMinorUnits,
    updatedAt: row.updatedAt,
    lastEventSequence: row.lastEventSequence,
    attemptCount: row.attemptCount,
    latestAttempt: latestAttempt === null ? null : attemptOf(latestAttempt),
  };
}

export function attemptOf(row: PaymentAttemptValues): PaymentAttempt {
  return {
    id: publicId('pat', row.id),
    status: row.status,
    // An attempt from before this was recorded counts as direct: repeating a direct call then prompts nobody twice.
    origin: row.origin ?? 'DIRECT',
    paymentOption: row.paymentOption,
    phone: row.phone,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    declineReason: row.declineReason ?? null,
  };
}

/** The row of an order. A PENDING order is looked at by the sweep when its session ends, a final one never. */
export function orderValuesOf(order: Order): OrderValues {
  return {
    merchantId: storedId('mer', order.merchantId),
    environment: order.environment,
    id: storedId('ord', order.id),
    orderNumber: order.orderNumber,
    status: order.status,
    paymentType: order.paymentType,
    amountText: order.amount.text,
    amountMinorUnits: order.amount.minorUnits,
    deductedMinorUnits: order.deductedMinorUnits,
    currency: order.amount.currency.code,
    customerPhone: order.customerPhone.asGiven,
    customerPhoneE164: order.customerPhone.e164,
    reason: order.reason,
    businessName: order.businessName,
    returnUrl: order.returnUrl,
    webhookUrl: order.webhookUrl,
    lastEventSequence: order.lastEventSequence,
    attemptCount: order.attemptCount,
    latestAttemptId: order.latestAttempt === null ? null : storedId('pat', order.latestAttempt.id),
    createdAt: order.createdAt,
    updatedAt: order.updatedAt,
    expiresAt: order.expiresAt,
    sweepAt: order.status === 'PENDING' ? order.expiresAt : null,
  };
}

/** The row of an order's attempt. */
export function attemptValuesOf(order: Order, attempt: PaymentAttempt): PaymentAttemptValues {
  return {
    merchantId: storedId('mer', order.merchantId),
    id: storedId('pat', attempt.id),
    environment: order.environment,
    orderId: storedId('ord', order.id),
    status: attempt.status,
    origin: attempt.origin,
    paymentOption: attempt.paymentOption,
    phone: attempt.phone,
    declineReason: attempt.declineReason,
    createdAt: attempt.createdAt,
    updatedAt: attempt.updatedAt,
  };
}

/** How long the payer is asked to confirm. */
const promptMs = 3 * 60_000;

/** When a new attempt is to be handed to its wallet, and until when its payer is asked: now, and for three minutes. */
export const newAttemptSchedule = (createdAt: Date): { dueAt: Date; promptUntil: Date } => ({
  dueAt: createdAt,
  promptUntil: new Date(createdAt.getTime() + promptMs),
});
