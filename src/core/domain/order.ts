import type { PhoneNumber } from './phone-number.ts';
import { Money } from './money.ts';

/** Which of the two separate worlds an order lives in. */
export type Environment = 'SANDBOX' | 'PRODUCTION';

/** Where an order stands. PENDING is the only state that is ever left. */
export type OrderStatus = 'PENDING' | 'COMPLETED' | 'FAILED' | 'EXPIRED';

/** How the customer comes to pay. DIRECT has no hosted checkout, the others do. */
export type PaymentType = 'LINK' | 'QR' | 'DIRECT' | 'API';

/** The wallet and the channel in which the customer is asked to confirm. WALLETA_WALLET: hosted checkout only. */
export type PaymentOption = 'WALLETA_USSD' | 'WALLETB_USSD' | 'WALLETA_WALLET';

/**
 * Where one try to collect the money stands. REQUESTED: nothing was sent. SENT: only the wallet can say how it ends.
 * UNKNOWN: the wallet's answer was lost, so it is asked again. The other three are final.
 */
export type PaymentAttemptStatus = 'REQUESTED' | 'SENT' | 'UNKNOWN' | 'SUCCEEDED' | 'DECLINED' | 'TIMED_OUT';

/** Why a wallet said a definite no, in words that are the same for every wallet. */
export const declineReasons = [
  'insufficient_funds',
  'wrong_pin',
  'declined_by_payer',
  'payer_not_found',
  'limit_exceeded',
  'account_state',
  'payer_busy',
  'invalid_request',
  'merchant_config',
  'provider_error',
] as const;
export type DeclineReason = (typeof declineReasons)[number];

/** One try to collect the money of an order from one phone through one option. */
export interface PaymentAttempt {
  readonly id: string;
  readonly status: PaymentAttemptStatus;
  readonly paymentOption: PaymentOption;
  /** The payer's phone number in E.164 form. */
  readonly phone: string;
  readonly createdAt: Date;
  /** When the attempt last changed status. */
  readonly updatedAt: Date;
  /** Set exactly when the status is DECLINED. */
  readonly declineReason: DeclineReason | null;
}

/** Whether an attempt may still come to take money: it is to be sent, or only the wallet can say how it ends. */
export function isInFlight({ status }: Pick<PaymentAttempt, 'status'>): boolean {
  return status === 'REQUESTED' || status === 'SENT' || status === 'UNKNOWN';
}

/** What is fixed about an order when it is registered. Texts the merchant did not send are ''. */
export interface OrderFacts {
  readonly id: string;
  readonly merchantId: string;
  readonly environment: Environment;
  readonly orderNumber: string;
  readonly amount: Money;
  readonly paymentType: PaymentType;
  /** Empty texts for a payment link that was made without one, until its first payment attempt says it. */
  readonly customerPhone: PhoneNumber;
  readonly reason: string;
  readonly businessName: string;
  readonly returnUrl: string;
  readonly webhookUrl: string;
  readonly createdAt: Date;
  /** When the payment session ends: from this instant on no payment can be started. */
  readonly expiresAt: Date;
}

/** An order as it stands. A value: a change gives a new one. */
export interface Order extends OrderFacts {
  readonly status: OrderStatus;
  /** What the wallet says it debited, in the currency's minor unit; 0 until COMPLETED. */
  readonly deductedMinorUnits: bigint;
  /** When the order last changed status, or its creation while it never has. */
  readonly updatedAt: Date;
  readonly lastEventSequence: number;
  readonly attemptCount: number;
  readonly latestAttempt: PaymentAttempt | null;
}

/** What happened to an order. */
export type OrderEventType =
  'CREATED' | 'PAYMENT_STARTED' | 'PAYMENT_DECLINED' | 'COMPLETED' | 'FAILED' | 'EXPIRED';

/** One entry of an order's history. */
export interface OrderEvent {
  readonly type: OrderEventType;
  /** 1, 2, 3… without a gap within one order. */
  readonly sequence: number;
  readonly occurredAt: Date;
  /** The order's status before; null on CREATED. */
  readonly previousStatus: OrderStatus | null;
  /** The order as the event left it. */
  readonly order: Order;
  /** The attempt the event is about, as the event left it; null on events about the order alone. */
  readonly attempt: PaymentAttempt | null;
}

/** An order after a change, and the events the change adds to its history. The two are stored together or not at all. */
export interface Changed {
  readonly order: Order;
  readonly events: readonly OrderEvent[];
}

/** The PENDING order that registering these facts gives, and its first event. */
export function registerOrder(facts: OrderFacts): Changed {
  const order: Order = {
    ...facts,
    status: 'PENDING',
    deductedMinorUnits: 0n,
    updatedAt: facts.createdAt,
    lastEventSequence: 1,
    attemptCount: 0,
    latestAttempt: null,
  };
  const created: OrderEvent = {
    type: 'CREATED',
    sequence: 1,
    occurredAt: facts.createdAt,
    previousStatus: null,
    order,
    attempt: null,
  };
  return { order, events: [created] };
}

/**
 * Whether a registration says the same as the one an order came from, so that repeating it is safe. Everything the
 * merchant sent counts; the amount by value and the phone by its E.164 form, so "100" repeats "100.00".
 */
export function sameRegistration(order: Order, facts: OrderFacts): boolean {
  return (
    order.merchantId === facts.merchantId &&
    order.environment === facts.environment &&
    order.orderNumber === facts.orderNumber &&
    Money.equal(order.amount, facts.amount) &&
    order.paymentType === facts.paymentType &&
    // A link without a phone gets that of its first attempt, and is still the same link.
    (facts.customerPhone.e164 === '' || order.customerPhone.e164 === facts.customerPhone.e164) &&
    order.reason === facts.reason &&
    order.businessName === facts.businessName &&
    order.returnUrl === facts.returnUrl &&
    order.webhookUrl === facts.webhookUrl
  );
}
