import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  SettlementOutcome as OutcomeMessage,
  SettlementSchema,
  SettlementStatus as StatusMessage,
} from '../../gen/gatehouse/v1/settlement_service_pb.js';
import type { Settlement as SettlementMessage } from '../../gen/gatehouse/v1/settlement_service_pb.js';
import { publicId } from '../../contract/public-id.ts';
import type { SettlementOutcome, SettlementRow } from '../database/order-entities.ts';
import { environmentNumbers } from './environment.ts';

/** The contract's number for an outcome. */
export const settlementOutcomes = {
  PAID: OutcomeMessage.PAID,
  NOT_PAID: OutcomeMessage.NOT_PAID,
  RETURNED: OutcomeMessage.RETURNED,
  NOT_RETURNED: OutcomeMessage.NOT_RETURNED,
} as const satisfies Record<SettlementOutcome, OutcomeMessage>;

/** The state of a settlement at a time. A proposal expires without a write. */
export type SettlementState = SettlementRow['status'] | 'EXPIRED';

export const settlementStates = {
  PROPOSED: StatusMessage.PROPOSED,
  CONFIRMED: StatusMessage.CONFIRMED,
  WITHDRAWN: StatusMessage.WITHDRAWN,
  EXPIRED: StatusMessage.EXPIRED,
} as const satisfies Record<SettlementState, StatusMessage>;

/** A stored settlement as a message. */
export function settlementMessage(row: Omit<SettlementRow, symbol>, now: Date): SettlementMessage {
  const isExpired = row.status === 'PROPOSED' && row.expiresAt <= now;
  return create(SettlementSchema, {
    settlementId: publicId('stl', row.id),
    merchantId: publicId('mer', row.merchantId),
    environment: environmentNumbers[row.environment],
    orderId: row.orderId == null ? '' : publicId('ord', row.orderId),
    subject: subjectOf(row),
    outcome: settlementOutcomes[row.outcome],
    status: settlementStates[isExpired ? 'EXPIRED' : row.status],
    reason: row.reason,
    providerReference: row.providerReference,
    proposedBy: row.proposedBy,
    decidedBy: row.decidedBy,
    createTime: timestampFromDate(row.createdAt),
    expireTime: timestampFromDate(row.expiresAt),
    ...(row.decidedAt == null ? {} : { decideTime: timestampFromDate(row.decidedAt) }),
  });
}

/** The public id of the attempt, stray payment or refund that a settlement decides. */
export const settledId = (row: SubjectColumns): string => subjectOf(row).value ?? '';

type SubjectColumns = Pick<SettlementRow, 'paymentAttemptId' | 'strayPaymentId' | 'refundId'>;

function subjectOf({ paymentAttemptId, strayPaymentId, refundId }: SubjectColumns) {
  if (paymentAttemptId != null)
    return { case: 'paymentAttemptId', value: publicId('pat', paymentAttemptId) } as const;
  if (strayPaymentId != null)
    return { case: 'strayPaymentId', value: publicId('stp', strayPaymentId) } as const;
  if (refundId != null) return { case: 'refundId', value: publicId('rfd', refundId) } as const;
  return { case: undefined, value: undefined } as const;
}
