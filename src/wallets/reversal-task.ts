import type { LeasedRefund } from '../gen/gatehouse/v1/refund_service_pb.js';
import type { LeasedReversal } from '../gen/gatehouse/v1/stray_payment_service_pb.js';

/** Money to return through the wallet: a stray payment, or a refund. The wallet cannot tell the two apart. */
export interface ReversalTask {
  readonly merchantId: string;
  /** The name at the wallet. Core issues it, and changes it only when no request with the old one can still be executed. */
  readonly reversalId: string;
  readonly providerTransactionId: string;
  readonly attemptId: string;
  readonly amount: string;
  readonly currency: string;
  /** The text for the payer. */
  readonly description: string;
  /** Whether an earlier request may have reached the wallet. */
  readonly sentBefore: boolean;
  /** How often it was leased, including this time. */
  readonly tries: number;
  /** The wallet's reference of the reversal; '' without one. */
  readonly providerReference: string;
  /** The wallet's reference of the payment; '' without one. */
  readonly paymentReference: string;
  readonly callbackNotes: readonly string[];
  /** The merchant's own account that took the money; '' for the operator's. */
  readonly walletAccountId: string;
}

export const taskOfStrayPayment = ({ strayPayment: stray, ...leased }: LeasedReversal): ReversalTask => ({
  ...leased,
  merchantId: stray?.merchantId ?? '',
  providerTransactionId: stray?.providerTransactionId ?? '',
  attemptId: stray?.paymentAttemptId ?? '',
  amount: stray?.amount ?? '',
  currency: stray?.currency ?? '',
  tries: stray?.tries ?? 0,
  description: 'payment returned: its order could not take it',
});

export const taskOfRefund = ({ refund, ...leased }: LeasedRefund): ReversalTask => ({
  ...leased,
  merchantId: refund?.merchantId ?? '',
  reversalId: refund?.refundId ?? '',
  providerTransactionId: refund?.providerTransactionId ?? '',
  attemptId: refund?.paymentAttemptId ?? '',
  amount: refund?.amount ?? '',
  currency: refund?.currency ?? '',
  tries: refund?.tries ?? 0,
  providerReference: refund?.providerReference ?? '',
  description: refund?.reason ?? '',
});
