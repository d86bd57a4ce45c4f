import type { DirectPayment, OrderExplanation, PaymentOrder, Refund, RegisteredOrder } from './types.ts';

/** The texts of each result. An answer without them is not that of a gateway. */

export const registeredTexts: readonly (keyof RegisteredOrder)[] = ['checkout_url'];

export const directTexts: readonly (keyof DirectPayment)[] = ['message', 'payment_status'];

export const orderTexts: readonly (keyof PaymentOrder)[] = [
  'order_id',
  'order_number',
  'status',
  'amount',
  'deducted',
  'currency',
  'payment_option',
  'payment_type',
  'customer_phone',
  'reason',
  'created_timestamp',
  'updated_timestamp',
];

export const explanationTexts: readonly (keyof OrderExplanation)[] = [
  'order_id',
  'order_number',
  'status',
  'waiting_for',
  'held_by',
  'wallet',
  'reason',
  'next',
  'next_at',
  'since',
  'text',
];

export const refundTexts: readonly (keyof Refund)[] = [
  'refund_id',
  'refund_number',
  'order_number',
  'status',
  'amount',
  'currency',
  'reason',
  'created_timestamp',
  'updated_timestamp',
];
