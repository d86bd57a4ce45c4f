import type { components } from './openapi.ts';

type Schemas = components['schemas'];

/** An order to register. */
export type RegisterRequest = Schemas['RegisterRequest'];
/** The result of a registration: the URL of the checkout page. */
export type RegisteredOrder = Schemas['RegisterReply']['data'];
/** A direct payment to start. `payment_option` names the wallet, such as `walleta_ussd`. */
export type DirectPaymentRequest = Schemas['DirectPaymentRequest'] & { payment_option: string };
/** The result of a direct payment. `payment_status` is PENDING until the wallet has decided. */
export type DirectPayment = Schemas['DirectPaymentReply'];
/** A refund to create. Without `amount`, it returns the rest of the order. */
export type RefundRequest = Schemas['RefundRequest'];

/** A payment order. Amounts are decimal text. */
export type PaymentOrder = Schemas['PaymentOrder'];
/** The explanation of an order: the fact that it waits for, and the next step. `text` is for people; programs read the other fields. New words may be added. */
export type OrderExplanation = Schemas['OrderExplanation'];
/** A refund. Amounts are decimal text. */
export type Refund = Schemas['Refund'];
/** One problem with one field of a request. */
export type ErrorDetail = Schemas['ErrorDetail'];

/** A webhook about an order. */
export type OrderEvent = Schemas['WebhookEvent'];
/** A webhook about a payment link, which is an order. */
export type PaymentLinkEvent = Schemas['PaymentLinkWebhookEvent'];
/** A webhook about a refund. */
export type RefundEvent = Schemas['RefundWebhookEvent'];
/** A webhook. `type` says which. New types may be added: ignore unknown ones. */
export type WebhookEvent = OrderEvent | PaymentLinkEvent | RefundEvent;

/** `sandbox`: test keys, no real money. `production`: live keys, real payments. */
export type Environment = 'sandbox' | 'production';
