import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import type { NextAction } from '../domain/next-action.ts';
import type {
  AttemptOrigin,
  DeclineReason,
  OrderEventType,
  OrderStatus,
  PaymentAttemptStatus,
  PaymentOption,
  PaymentType,
  StrayPaymentStatus,
} from '../domain/order.ts';
import type { RefundProgress } from '../domain/refund-record.ts';
import type { StoredPromptKind } from '../domain/prompt-allowance.ts';
import { environment, idOf, leaseColumns, returnColumns, schema, time } from './columns.ts';

export const OrderRow = defineEntity({
  name: 'OrderRow',
  tableName: 'orders',
  schema,
  properties: {
    merchantId: idOf<'mer'>().primary(),
    environment: environment().primary(),
    id: idOf<'ord'>().primary(),
    orderNumber: p.text(),
    status: p.string().columnType('core.order_status').$type<OrderStatus>(),
    paymentType: p.string().columnType('core.payment_type').$type<PaymentType>(),
    amountText: p.text(),
    amountMinorUnits: p.bigint(),
    deductedMinorUnits: p.bigint(),
    /** Null until the first refund is COMPLETED. */
    refundedMinorUnits: p.bigint().nullable(),
    currency: p.text(),
    customerPhone: p.text(),
    customerPhoneE164: p.text().fieldName('customer_phone_e164'),
    reason: p.text(),
    businessName: p.text(),
    returnUrl: p.text(),
    webhookUrl: p.text(),
    lastEventSequence: p.integer(),
    attemptCount: p.smallint(),
    latestAttemptId: idOf<'pat'>().nullable(),
    createdAt: time(),
    updatedAt: time(),
    expiresAt: time(),
    sweepAt: time().nullable(),
    checkoutBrowserHash: p.blob().nullable(),
  },
});
export type OrderRow = InferEntity<typeof OrderRow>;

export const PaymentAttemptRow = defineEntity({
  name: 'PaymentAttemptRow',
  tableName: 'payment_attempts',
  schema,
  properties: {
    merchantId: idOf<'mer'>().primary(),
    id: idOf<'pat'>().primary(),
    environment: environment(),
    orderId: idOf<'ord'>(),
    status: p.string().columnType('core.payment_attempt_status').$type<PaymentAttemptStatus>(),
    /** Null for attempts from before this column existed. */
    origin: p.text().$type<AttemptOrigin>().nullable(),
    paymentOption: p.string().columnType('text').$type<PaymentOption>(),
    phone: p.text(),
    declineReason: p.text().$type<DeclineReason>().nullable(),
    createdAt: time(),
    updatedAt: time(),
    ...leaseColumns(),
    leases: p.integer().default(0),
    maybeSent: p.boolean().default(false),
    promptUntil: time().nullable(),
    /** The customer's network at checkout, as a keyed hash; null for a direct payment. */
    network: p.text().nullable(),
    promptKind: p.text().fieldName('prompt_place').$type<StoredPromptKind>().nullable(),
    /** The settlement that decided it instead of the wallet. */
    settlementId: idOf<'stl'>().nullable(),
    /** The merchant's own account at the wallet; null before the first lease, and for the operator's account. */
    walletAccountId: idOf<'wac'>().nullable(),
    providerReference: p.text().nullable(),
    providerTransactionId: p.text().nullable(),
    detail: p.text().default(''),
    /** Null when the wallet prompts the payer's phone. */
    nextAction: p.json<NextAction>().nullable(),
    /** The notes of callbacks, oldest first, for later queries. */
    callbackNotes: p.array().columnType('text[]').$type<string[]>().default([]),
  },
});
export type PaymentAttemptRow = InferEntity<typeof PaymentAttemptRow>;

/** PostgreSQL sets xid and position. Only the SQL of the event list reads them. */
export const OrderEventRow = defineEntity({
  name: 'OrderEventRow',
  tableName: 'order_events',
  schema,
  properties: {
    merchantId: idOf<'mer'>().primary(),
    orderId: idOf<'ord'>().primary(),
    sequence: p.integer().primary(),
    environment: environment(),
    id: idOf<'evt'>(),
    type: p.string().columnType('core.order_event_type').$type<OrderEventType>(),
    occurredAt: time(),
    payload: p.blob(),
  },
});
export type OrderEventRow = InferEntity<typeof OrderEventRow>;

/** An exchange with a wallet, as a binary WalletExchange. It belongs to an attempt, or to a payment that a payer started. */
export const WalletExchangeRow = defineEntity({
  name: 'WalletExchangeRow',
  tableName: 'wallet_exchanges',
  schema,
  properties: {
    /** The id of no merchant for a payment that a payer started. */
    merchantId: idOf<'mer'>().primary(),
    paymentAttemptId: idOf<'pat' | 'ppm'>().primary(),
    id: p.uuid().primary(),
    payload: p.blob(),
  },
});
export type WalletExchangeRow = InferEntity<typeof WalletExchangeRow>;

export type StrayPaymentKind = 'LATE' | 'WRONG_AMOUNT' | 'NO_ORDER';

export const StrayPaymentRow = defineEntity({
  name: 'StrayPaymentRow',
  tableName: 'stray_payments',
  schema,
  properties: {
    merchantId: idOf<'mer'>().primary(),
    id: idOf<'stp'>().primary(),
    environment: environment(),
    orderId: idOf<'ord'>().nullable(),
    /** Null when a payer started the payment. */
    paymentAttemptId: idOf<'pat'>().nullable(),
    payerPaymentId: idOf<'ppm'>().nullable(),
    paymentOption: p.string().columnType('text').$type<PaymentOption>(),
    providerTransactionId: p.text(),
    amount: p.text(),
    currency: p.text(),
    kind: p.string().columnType('core.stray_payment_kind').$type<StrayPaymentKind>(),
    status: p.string().columnType('core.stray_payment_status').$type<StrayPaymentStatus>(),
    /** The settlement that decided it instead of the wallet. */
    settlementId: idOf<'stl'>().nullable(),
    ...returnColumns(),
    /** The id of the reversal at the wallet: the stray payment's id until an operator retries the reversal. */
    reversalId: idOf<'stp'>(),
    createdAt: time(),
    updatedAt: time(),
  },
});
export type StrayPaymentRow = InferEntity<typeof StrayPaymentRow>;

export const RefundRow = defineEntity({
  name: 'RefundRow',
  tableName: 'refunds',
  schema,
  properties: {
    merchantId: idOf<'mer'>().primary(),
    /** Also the name at the wallet, for ever. */
    id: idOf<'rfd'>().primary(),
    environment: environment(),
    refundNumber: p.text(),
    orderId: idOf<'ord'>(),
    orderNumber: p.text(),
    paymentAttemptId: idOf<'pat'>(),
    paymentOption: p.string().columnType('text').$type<PaymentOption>(),
    providerTransactionId: p.text(),
    amountMinorUnits: p.bigint(),
    amountGiven: p.boolean(),
    currency: p.text(),
    reason: p.text(),
    requestedBy: p.text(),
    decidedBy: p.text().default(''),
    settlementId: idOf<'stl'>().nullable(),
    status: p.string().columnType('core.refund_status').$type<RefundProgress['status']>(),
    ...returnColumns(),
    createdAt: time(),
    updatedAt: time(),
  },
});
export type RefundRow = InferEntity<typeof RefundRow>;

export type SettlementOutcome = 'PAID' | 'NOT_PAID' | 'RETURNED' | 'NOT_RETURNED';

export const SettlementRow = defineEntity({
  name: 'SettlementRow',
  tableName: 'settlements',
  schema,
  properties: {
    id: idOf<'stl'>().primary(),
    merchantId: idOf<'mer'>(),
    environment: environment(),
    /** Null for a stray payment without an order. */
    orderId: idOf<'ord'>().nullable(),
    paymentAttemptId: idOf<'pat'>().nullable(),
    strayPaymentId: idOf<'stp'>().nullable(),
    refundId: idOf<'rfd'>().nullable(),
    outcome: p.string().columnType('core.settlement_outcome').$type<SettlementOutcome>(),
    status: p.string().columnType('core.settlement_status').$type<'PROPOSED' | 'CONFIRMED' | 'WITHDRAWN'>(),
    reason: p.text(),
    providerReference: p.text(),
    proposedBy: p.text(),
    /** Null for the holder of an operator service token. */
    proposedByUserId: idOf<'usr'>().nullable(),
    decidedBy: p.text().default(''),
    createdAt: time(),
    expiresAt: time(),
    decidedAt: time().nullable(),
  },
});
export type SettlementRow = InferEntity<typeof SettlementRow>;
