import type { PhoneNumber } from './phone-number.ts';
import type { Money } from './money.ts';

/** Ids as they are shown. The rules never look into them; the types keep one kind from being taken for another. */
export type MerchantId = `mer_${string}`;
export type OrderId = `ord_${string}`;
export type AttemptId = `pat_${string}`;

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
export const walletDeclineReasons = [
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
export type WalletDeclineReason = (typeof walletDeclineReasons)[number];

/** `wrong_amount`: the wallet took money, but not what the order asks for. The money goes back as a stray payment. */
export type DeclineReason = WalletDeclineReason | 'wrong_amount';

/** Who asked for an attempt: the merchant's server with a direct payment, or a customer on the checkout page. */
export type AttemptOrigin = 'DIRECT' | 'CHECKOUT';

/** One try to collect the money of an order from one phone through one option. */
export interface PaymentAttempt {
  readonly id: AttemptId;
  readonly status: PaymentAttemptStatus;
  readonly origin: AttemptOrigin;
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
  readonly id: OrderId;
  readonly merchantId: MerchantId;
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

/** Where money stands that an order could not take as its payment. Only REVERSED means that the payer has it back. */
export type StrayPaymentStatus = 'REVERSAL_DUE' | 'REVERSED' | 'REVERSAL_REFUSED';

/** Money that the wallet took for an attempt of an order without paying the order. */
export interface StrayMoney {
  readonly attemptId: AttemptId;
  /** As the wallet wrote it: decimal text, and a currency that may be no currency of ours. */
  readonly amount: string;
  readonly currency: string;
  readonly status: StrayPaymentStatus;
  readonly foundAt: Date;
}

/** An order with everything that its attempts left behind: what a decision about it takes. */
export interface OrderInFull extends Order {
  /** The attempts before the latest one, oldest first. */
  readonly earlierAttempts: readonly PaymentAttempt[];
  /** Stray money of any attempt, oldest first. */
  readonly strayMoney: readonly StrayMoney[];
}

/**
 * The oldest money that an attempt took and that neither pays the order nor is back with the payer. A refused reversal
 * counts, and so does one whose outcome the wallet has not told: the payer may be without that money.
 */
export const moneyNotReturned = ({ strayMoney }: Pick<OrderInFull, 'strayMoney'>): StrayMoney | undefined =>
  strayMoney.find(({ status }) => status !== 'REVERSED');

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
  readonly order: OrderInFull;
  readonly events: readonly OrderEvent[];
}

/** Two changes, one after the other, as a single change. */
export const followedBy = (first: Changed | undefined, next: Changed): Changed =>
  first === undefined ? next : { order: next.order, events: [...first.events, ...next.events] };

/** The PENDING order that registering these facts gives, and its first event. */
export function registerOrder(facts: OrderFacts): Changed {
  const order: OrderInFull = {
    ...facts,
    earlierAttempts: [],
    strayMoney: [],
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
