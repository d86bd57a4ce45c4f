import type { OrderRow, PaymentAttemptRow } from './order-entities.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import { Currency } from '../domain/currency.ts';
import type { Order, PaymentAttempt } from '../domain/order.ts';

/** The values of a row that belong to the domain, without those of the ORM and of the lease. */
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

/** An attempt's values, with those that say whether it was requested, and with which account. Without them, it was not requested. */
type ReadAttempt = PaymentAttemptValues &
  Partial<Pick<PaymentAttemptRow, 'walletAccountId' | 'leases' | 'maybeSent'>>;

/** The order of a row and of the row of its latest attempt. */
export function orderOf(row: OrderValues, latestAttempt: ReadAttempt | null): Order {
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
    refundedMinorUnits: row.refundedMinorUnits ?? 0n,
    updatedAt: row.updatedAt,
    lastEventSequence: row.lastEventSequence,
    attemptCount: row.attemptCount,
    latestAttempt: latestAttempt === null ? null : attemptOf(latestAttempt),
  };
}

export function attemptOf(row: ReadAttempt): PaymentAttempt {
  const { walletAccountId: account, leases = 0, maybeSent = false } = row;
  const isRequested = leases > 0 || maybeSent;
  return {
    id: publicId('pat', row.id),
    status: row.status,
    // An attempt from before this column existed counts as direct, so that repeating a direct call sends no second prompt.
    origin: row.origin ?? 'DIRECT',
    paymentOption: row.paymentOption,
    phone: row.phone,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    declineReason: row.declineReason ?? null,
    ...(isRequested ? { walletAccountId: account == null ? null : publicId('wac', account) } : {}),
  };
}

/** Why the wallet's latest answer decided nothing, or why the request did not reach it; empty otherwise. A later answer leaves the text in the row. */
export const undecidedDetail = ({
  status,
  maybeSent,
  detail,
}: Pick<PaymentAttemptRow, 'status' | 'maybeSent' | 'detail'>): string =>
  status === 'REQUESTED' || status === 'UNKNOWN' || (status === 'SENT' && !maybeSent) ? detail : '';

/** The row of an order. The sweep checks a PENDING order when its session expires, and never checks a final order. */
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
    refundedMinorUnits: order.refundedMinorUnits === 0n ? null : order.refundedMinorUnits,
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

/** The duration of a prompt. */
const promptMs = 3 * 60_000;

/** The times of a new attempt: due now, with a prompt of three minutes. */
export const newAttemptSchedule = (createdAt: Date): { dueAt: Date; promptUntil: Date } => ({
  dueAt: createdAt,
  promptUntil: new Date(createdAt.getTime() + promptMs),
});
