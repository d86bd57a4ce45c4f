import type { Currency } from './currency.ts';
import type {
  AttemptId,
  Environment,
  MerchantId,
  OrderId,
  PaymentOption,
  RefundId,
  SettlementId,
} from './order-identity.ts';
import type { Reversal } from './reversal.ts';

/** A refund before the wallet has any part in it. */
interface WithPeople {
  readonly status: 'AWAITING_APPROVAL' | 'APPROVAL_DECLINED';
  readonly updatedAt: Date;
}

export type RefundProgress = WithPeople | Reversal;

/** The values of a refund that are fixed when it is created. */
export interface RefundFacts {
  readonly id: RefundId;
  readonly merchantId: MerchantId;
  readonly environment: Environment;
  readonly refundNumber: string;
  readonly orderId: OrderId;
  readonly orderNumber: string;
  /** The attempt that paid the order. */
  readonly attemptId: AttemptId;
  readonly paymentOption: PaymentOption;
  /** The wallet's id of the transaction to return. */
  readonly providerTransactionId: string;
  /** In the currency's minor unit; greater than zero. */
  readonly minorUnits: bigint;
  readonly currency: Currency;
  /** Whether the request named the amount. Otherwise it asked for all that was left. */
  readonly isAmountGiven: boolean;
  readonly reason: string;
  /** The actor, as in the audit log. */
  readonly requestedBy: string;
  readonly createdAt: Date;
}

/** A refund. It is immutable: a change returns a new value. */
export interface Refund extends RefundFacts {
  readonly progress: RefundProgress;
  /** The actor that approved or declined it; '' while no one has. */
  readonly decidedBy: string;
  /** The settlement that decided it instead of the wallet; null when there is none. */
  readonly settlementId: SettlementId | null;
}

/** A refund, or several with the same status together, as far as they decide how much of their order is left. */
export interface RefundSum {
  readonly progress: Pick<RefundProgress, 'status'>;
  readonly minorUnits: bigint;
}
