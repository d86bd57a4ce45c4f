import type { PhoneNumber } from './phone-number.ts';
import type { Money } from './money.ts';
import type {
  AttemptId,
  Environment,
  MerchantId,
  OrderId,
  PaymentOption,
  SettlementId,
  StrayPaymentId,
  WalletAccountId,
} from './order-identity.ts';
import type { Refund } from './refund-record.ts';

export type {
  AttemptId,
  Environment,
  MerchantId,
  OrderId,
  PaymentOption,
  RefundId,
  SettlementId,
  StrayPaymentId,
} from './order-identity.ts';

/** The status of an order. All states except PENDING are final. */
export type OrderStatus = 'PENDING' | 'COMPLETED' | 'FAILED' | 'EXPIRED';

/** How the customer reaches the payment. All types except DIRECT have a hosted checkout. */
export type PaymentType = 'LINK' | 'QR' | 'DIRECT' | 'API';

/**
 * The status of a payment attempt. REQUESTED: nothing was sent. SENT: only the wallet knows the outcome. UNKNOWN: the wallet's
 * answer was lost, so the outcome is queried. The other three are final.
 */
export type PaymentAttemptStatus = 'REQUESTED' | 'SENT' | 'UNKNOWN' | 'SUCCEEDED' | 'DECLINED' | 'TIMED_OUT';

/** The reasons for which a wallet definitely declines, the same for every wallet, and in the order of `failureReasons` of its connectors. */
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

/**
 * `wrong_amount`: the wallet debited another amount than the order's. The money is a stray payment and is returned.
 * `settled_by_operator`: operators know from the provider that no money moved.
 */
export type DeclineReason = WalletDeclineReason | 'wrong_amount' | 'settled_by_operator';

/**
 * The origin of an attempt. DIRECT: a direct payment of the merchant's server. CHECKOUT: a customer on the checkout page. PAYER: a payer
 * who paid at the wallet without a request of ours.
 */
export type AttemptOrigin = 'DIRECT' | 'CHECKOUT' | 'PAYER';

/** One try to collect an order's amount from one phone through one option. */
export interface PaymentAttempt {
  readonly id: AttemptId;
  readonly status: PaymentAttemptStatus;
  readonly origin: AttemptOrigin;
  readonly paymentOption: PaymentOption;
  /** The payer's phone number in E.164 form; empty for the origin PAYER, because the wallet does not tell it. */
  readonly phone: string;
  readonly createdAt: Date;
  /** When the attempt last changed status. */
  readonly updatedAt: Date;
  /** Set if and only if the status is DECLINED. */
  readonly declineReason: DeclineReason | null;
  /** The merchant's own account that requested it at the wallet, null for the operator's. Absent before the first request. */
  readonly walletAccountId?: WalletAccountId | null;
}

/** Whether an attempt may still take money: it will be sent, or only the wallet knows its outcome. */
export function isInFlight({ status }: Pick<PaymentAttempt, 'status'>): boolean {
  return status === 'REQUESTED' || status === 'SENT' || status === 'UNKNOWN';
}

/** The values of an order that are fixed at registration. Missing texts are ''. */
export interface OrderFacts {
  readonly id: OrderId;
  readonly merchantId: MerchantId;
  readonly environment: Environment;
  readonly orderNumber: string;
  readonly amount: Money;
  readonly paymentType: PaymentType;
  /** Empty for a payment link without a phone, until its first payment attempt. */
  readonly customerPhone: PhoneNumber;
  readonly reason: string;
  readonly businessName: string;
  readonly returnUrl: string;
  readonly webhookUrl: string;
  readonly createdAt: Date;
  /** When the payment session expires. From this instant on no payment can be started. */
  readonly expiresAt: Date;
}

/** The state of an order. It is immutable: a change returns a new value. */
export interface Order extends OrderFacts {
  readonly status: OrderStatus;
  /** The amount that the wallet reports as debited, in the currency's minor unit; 0 until COMPLETED. */
  readonly deductedMinorUnits: bigint;
  /** The amount that wallets have confirmed as refunded, in the currency's minor unit. */
  readonly refundedMinorUnits: bigint;
  /** When the order last changed status, or was created. */
  readonly updatedAt: Date;
  readonly lastEventSequence: number;
  readonly attemptCount: number;
  readonly latestAttempt: PaymentAttempt | null;
}

/** The status of a stray payment. Only REVERSED means that the money was returned to the payer. */
export type StrayPaymentStatus = 'REVERSAL_DUE' | 'REVERSED' | 'REVERSAL_REFUSED';

/** Money that the wallet debited for an attempt, and that does not pay the order. */
export interface StrayMoney {
  readonly attemptId: AttemptId;
  /** In the wallet's notation: decimal text, and a currency that we may not know. */
  readonly amount: string;
  readonly currency: string;
  readonly status: StrayPaymentStatus;
  readonly foundAt: Date;
}

/** An order with all its attempts and stray money: the input of every decision. */
export interface OrderInFull extends Order {
  /** The attempts before the latest one, oldest first. */
  readonly earlierAttempts: readonly PaymentAttempt[];
  /** Stray money of any attempt, oldest first. */
  readonly strayMoney: readonly StrayMoney[];
  /** Whether a payer-started payment of the order is being confirmed. Read only for decisions that could end the order without that payment. */
  readonly payerPays?: boolean;
}

/**
 * The oldest money of an attempt that does not pay the order and was not returned to the payer yet. Money with a refused or undecided
 * reversal counts, because the payer may still lack it.
 */
export const moneyNotReturned = ({ strayMoney }: Pick<OrderInFull, 'strayMoney'>): StrayMoney | undefined =>
  strayMoney.find(({ status }) => status !== 'REVERSED');

/** The types of commands to an order. transition.ts has the rules. */
export const commandTypes = [
  'start_payment',
  'send_attempt',
  'lose_attempt',
  'confirm_attempt',
  'receive_payment',
  'decline_attempt',
  'time_out_attempt',
  'cancel',
  'expire',
] as const;
export type CommandType = (typeof commandTypes)[number];

/**
 * The command that caused an event, and the inputs of its decision that the order's events do not contain. With the events,
 * it is enough to decide again. It has no personal data.
 */
export interface DecisionRecord {
  readonly command: CommandType;
  /** The order's latest attempt before the decision. Its steps to SENT and UNKNOWN add no event. */
  readonly attemptBefore: Pick<PaymentAttempt, 'status' | 'updatedAt'> | null;
  /** The origin of the attempt that the command started; null for other commands. */
  readonly attemptOrigin: AttemptOrigin | null;
  readonly strayMoney: OrderInFull['strayMoney'];
  /** Whether a payer-started payment of the order was being confirmed. Then the order stays open after its last attempt. */
  readonly payerPays: boolean;
  /** Whether the wallet certainly had no request of the attempt that `time_out_attempt` ended. It changes nothing in the decision. */
  readonly isUnsent: boolean;
}

export type OrderEventType =
  | 'CREATED'
  | 'PAYMENT_STARTED'
  | 'PAYMENT_DECLINED'
  | 'COMPLETED'
  | 'FAILED'
  | 'EXPIRED'
  | 'REFUND_REQUESTED'
  | 'REFUND_APPROVED'
  | 'REFUND_COMPLETED'
  | 'REFUND_FAILED'
  | 'STRAY_PAYMENT_SETTLED';

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
  /** The refund the event is about, as the event left it. */
  readonly refund?: Refund;
  /** The stray payment that operators settled. */
  readonly strayPaymentId?: StrayPaymentId;
  /** The settlement that caused the event, if operators decided instead of a wallet. */
  readonly settlementId?: SettlementId;
  /** The wallet's transaction that paid, on COMPLETED. */
  readonly providerTransactionId?: string;
  /** The decision of `transition` that the event records. */
  readonly decision?: DecisionRecord;
}

/** An order after a change, and the events the change adds to its history. The two are stored together or not at all. */
export interface Changed {
  readonly order: OrderInFull;
  readonly events: readonly OrderEvent[];
}

/** Two changes, one after the other, as a single change. */
export const followedBy = (first: Changed | undefined, next: Changed): Changed =>
  first === undefined ? next : { order: next.order, events: [...first.events, ...next.events] };

/** The change, with the wallet's transaction in the event that completes the order. */
export const paidBy = ({ order, events }: Changed, providerTransactionId: string): Changed => ({
  order,
  events: events.map((event) => (event.type === 'COMPLETED' ? { ...event, providerTransactionId } : event)),
});

/** Registers an order with these facts: returns the PENDING order and its first event. */
export function registerOrder(facts: OrderFacts): Changed {
  const order: OrderInFull = {
    ...facts,
    earlierAttempts: [],
    strayMoney: [],
    status: 'PENDING',
    deductedMinorUnits: 0n,
    refundedMinorUnits: 0n,
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
