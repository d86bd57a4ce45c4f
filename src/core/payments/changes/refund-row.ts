import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import { RefundRow } from '../../database/order-entities.ts';
import { Currency } from '../../domain/currency.ts';
import { isWithWallet } from '../../domain/refund.ts';
import type { Refund, RefundProgress } from '../../domain/refund-record.ts';
import { requestColumns, requestOf } from './reversal-row.ts';
import type { RequestColumns } from './reversal-row.ts';

/** The values of a row, without those of the ORM and of callbacks. */
type RefundValues = Omit<RefundRow, symbol | 'callbackNotes'>;
type ProgressColumns = Omit<RequestColumns, 'status'> & { readonly status: RefundProgress['status'] };

export const refundOf = (row: RefundValues): Refund => ({
  id: publicId('rfd', row.id),
  merchantId: publicId('mer', row.merchantId),
  environment: row.environment,
  refundNumber: row.refundNumber,
  orderId: publicId('ord', row.orderId),
  orderNumber: row.orderNumber,
  attemptId: publicId('pat', row.paymentAttemptId),
  paymentOption: row.paymentOption,
  providerTransactionId: row.providerTransactionId,
  minorUnits: row.amountMinorUnits,
  currency: Currency.of(row.currency),
  isAmountGiven: row.amountGiven,
  reason: row.reason,
  requestedBy: row.requestedBy,
  createdAt: row.createdAt,
  decidedBy: row.decidedBy,
  settlementId: row.settlementId == null ? null : publicId('stl', row.settlementId),
  progress: progressOf(row),
});

function progressOf(row: RefundValues): RefundProgress {
  const { status, updatedAt } = row;
  if (status === 'AWAITING_APPROVAL' || status === 'APPROVAL_DECLINED') return { status, updatedAt };
  return requestOf(publicId('rfd', row.id), { ...row, status });
}

function progressColumns(progress: RefundProgress): ProgressColumns {
  if (isWithWallet(progress)) return requestColumns(progress);
  const { status, updatedAt } = progress;
  return {
    status,
    updatedAt,
    detail: '',
    refusalReason: '',
    tries: 0,
    maybeSent: false,
    askedSince: null,
    providerReference: null,
    dueAt: null,
    leasedUntil: null,
    leaseId: null,
    hastenedTo: null,
  };
}

const refundValuesOf = (refund: Refund): RefundValues => ({
  merchantId: storedId('mer', refund.merchantId),
  id: storedId('rfd', refund.id),
  environment: refund.environment,
  refundNumber: refund.refundNumber,
  orderId: storedId('ord', refund.orderId),
  orderNumber: refund.orderNumber,
  paymentAttemptId: storedId('pat', refund.attemptId),
  paymentOption: refund.paymentOption,
  providerTransactionId: refund.providerTransactionId,
  amountMinorUnits: refund.minorUnits,
  amountGiven: refund.isAmountGiven,
  currency: refund.currency.code,
  reason: refund.reason,
  requestedBy: refund.requestedBy,
  decidedBy: refund.decidedBy,
  settlementId: refund.settlementId === null ? null : storedId('stl', refund.settlementId),
  createdAt: refund.createdAt,
  ...progressColumns(refund.progress),
});

/** Adds the row of a new refund to the unit of work. */
export function addRefund(em: EntityManager, refund: Refund): void {
  em.create(RefundRow, refundValuesOf(refund));
}

export function writeRefund(em: EntityManager, row: RefundRow, refund: Refund): void {
  em.assign(row, refundValuesOf(refund));
}
