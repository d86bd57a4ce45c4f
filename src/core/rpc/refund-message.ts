import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RefundSchema, RefundStatus as StatusMessage } from '../../gen/gatehouse/v1/order_pb.js';
import type { Refund as RefundMessage } from '../../gen/gatehouse/v1/order_pb.js';
import { Money } from '../domain/money.ts';
import { failureReason, refundStatus } from '../domain/refund.ts';
import type { Refund } from '../domain/refund-record.ts';
import type { RefundStatus } from '../domain/refund.ts';
import { environmentNumbers } from './environment.ts';

/** The contract's number for the status of a refund. */
export const refundStatuses = {
  AWAITING_APPROVAL: StatusMessage.AWAITING_APPROVAL,
  REQUESTED: StatusMessage.REQUESTED,
  SENT: StatusMessage.SENT,
  UNKNOWN: StatusMessage.UNKNOWN,
  COMPLETED: StatusMessage.COMPLETED,
  FAILED: StatusMessage.FAILED,
} as const satisfies Record<RefundStatus, StatusMessage>;

/** A refund as a message of the contract. */
export function refundMessage(refund: Refund): RefundMessage {
  const { progress } = refund;
  const atWallet =
    'tries' in progress
      ? {
          detail: progress.detail,
          tries: progress.tries,
          providerReference: progress.providerReference ?? '',
        }
      : {};
  return create(RefundSchema, {
    refundId: refund.id,
    merchantId: refund.merchantId,
    environment: environmentNumbers[refund.environment],
    refundNumber: refund.refundNumber,
    orderId: refund.orderId,
    orderNumber: refund.orderNumber,
    status: refundStatuses[refundStatus(refund)],
    amount: Money.formatMinorUnits(refund.minorUnits, refund.currency),
    currency: refund.currency.code,
    reason: refund.reason,
    paymentAttemptId: refund.attemptId,
    paymentOption: refund.paymentOption,
    createTime: timestampFromDate(refund.createdAt),
    updateTime: timestampFromDate(progress.updatedAt),
    failureReason: failureReason(refund),
    requestedBy: refund.requestedBy,
    decidedBy: refund.decidedBy,
    providerTransactionId: refund.providerTransactionId,
    settlementId: refund.settlementId ?? '',
    ...atWallet,
  });
}
