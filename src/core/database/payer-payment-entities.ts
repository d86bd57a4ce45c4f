import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import type { PaymentOption } from '../domain/order.ts';
import type { PayerPaymentStatus } from '../domain/payer-payment.ts';
import { environment, idOf, leaseColumns, schema, time } from './columns.ts';

/** A payment that its payer started. */
export const PayerPaymentRow = defineEntity({
  name: 'PayerPaymentRow',
  tableName: 'payer_payments',
  schema,
  properties: {
    id: idOf<'ppm'>().primary(),
    environment: environment(),
    wallet: p.text(),
    paymentOption: p.string().columnType('text').$type<PaymentOption>(),
    providerTransactionId: p.text(),
    reference: p.text(),
    payee: p.text(),
    amount: p.text(),
    currency: p.text(),
    status: p.text().$type<PayerPaymentStatus>(),
    merchantId: idOf<'mer'>().nullable(),
    orderId: idOf<'ord'>().nullable(),
    paymentAttemptId: idOf<'pat'>().nullable(),
    strayPaymentId: idOf<'stp'>().nullable(),
    detail: p.text().default(''),
    tries: p.integer().default(0),
    providerReference: p.text().nullable(),
    callbackNotes: p.array().columnType('text[]').$type<string[]>().default([]),
    ...leaseColumns(),
    /** When the wallet first confirmed the money; null before. */
    confirmedAt: time().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
});
export type PayerPaymentRow = InferEntity<typeof PayerPaymentRow>;

/** A wallet's transaction that paid an order or became stray. */
export const WalletReceiptRow = defineEntity({
  name: 'WalletReceiptRow',
  tableName: 'wallet_receipts',
  schema,
  properties: {
    environment: environment().primary(),
    wallet: p.text().primary(),
    providerTransactionId: p.text().primary(),
    merchantId: idOf<'mer'>().nullable(),
    paymentAttemptId: idOf<'pat'>().nullable(),
  },
});
export type WalletReceiptRow = InferEntity<typeof WalletReceiptRow>;

export const payerPaymentEntities = [PayerPaymentRow, WalletReceiptRow];
