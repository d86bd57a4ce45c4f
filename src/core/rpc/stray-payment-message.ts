import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  StrayPaymentKind as KindMessage,
  StrayPaymentSchema,
  StrayPaymentStatus as StatusMessage,
} from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPayment as StrayPaymentMessage } from '../../gen/gatehouse/v1/stray_payment_service_pb.js';
import { publicId } from '../../contract/public-id.ts';
import type { StrayPaymentKind, StrayPaymentRow } from '../database/order-entities.ts';
import type { StrayPaymentStatus } from '../domain/order.ts';
import { environmentNumbers } from './environment.ts';

/** The contract's number for the status of a stray payment. */
export const strayPaymentStatuses = {
  REVERSAL_DUE: StatusMessage.REVERSAL_DUE,
  REVERSED: StatusMessage.REVERSED,
  REVERSAL_REFUSED: StatusMessage.REVERSAL_REFUSED,
} as const satisfies Record<StrayPaymentStatus, StatusMessage>;

const kinds = {
  LATE: KindMessage.LATE,
  WRONG_AMOUNT: KindMessage.WRONG_AMOUNT,
  NO_ORDER: KindMessage.NO_ORDER,
} as const satisfies Record<StrayPaymentKind, KindMessage>;

/** A stored stray payment as a message. */
export function strayPaymentMessage(stray: Omit<StrayPaymentRow, symbol>): StrayPaymentMessage {
  return create(StrayPaymentSchema, {
    strayPaymentId: publicId('stp', stray.id),
    merchantId: publicId('mer', stray.merchantId),
    environment: environmentNumbers[stray.environment],
    orderId: stray.orderId == null ? '' : publicId('ord', stray.orderId),
    paymentAttemptId: stray.paymentAttemptId == null ? '' : publicId('pat', stray.paymentAttemptId),
    paymentOption: stray.paymentOption,
    providerTransactionId: stray.providerTransactionId,
    amount: stray.amount,
    currency: stray.currency,
    kind: kinds[stray.kind],
    status: strayPaymentStatuses[stray.status],
    detail: stray.detail,
    refusalReason: stray.refusalReason,
    tries: stray.tries,
    settlementId: stray.settlementId == null ? '' : publicId('stl', stray.settlementId),
    createTime: timestampFromDate(stray.createdAt),
    updateTime: timestampFromDate(stray.updatedAt),
  });
}
