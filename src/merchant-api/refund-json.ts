import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { RefundStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { Refund } from '../gen/gatehouse/v1/order_pb.js';
import { isoTime } from './iso-time.ts';

/** A refund as merchants see it, in refund, in refund/verify and in webhooks. Nine fields. */
export const refundSchema = Type.Object(
  {
    refund_id: Type.String({
      description: 'Assigned by Gatehouse when the refund is created.',
      examples: ['rfd_01jd4s1k7w9q3m5x8b2n6c0v4z'],
    }),
    refund_number: Type.String({
      description: 'Your own reference of the refund.',
      examples: ['RET-2025-0007'],
    }),
    order_number: Type.String({
      description: 'Your own reference of the refunded order.',
      examples: ['INV-2025-0042'],
    }),
    status: Type.Unsafe<RefundStatusName>({
      type: 'string',
      enum: ['PENDING', 'COMPLETED', 'FAILED'],
      description:
        'PENDING until the wallet has decided. COMPLETED: the payer has the money. FAILED: no money moved, and the amount ' +
        'can be refunded again with a new refund_number.',
      examples: ['PENDING'],
    }),
    amount: Type.String({ description: 'The refunded amount, decimal text.', examples: ['40.50'] }),
    currency: Type.String({ description: "The order's currency, an ISO 4217 code.", examples: ['ETB'] }),
    reason: Type.String({ description: 'Why you refund, as you sent it.', examples: ['One book came back'] }),
    created_timestamp: Type.String({
      format: 'date-time',
      description: 'When the refund was created: ISO 8601 in UTC with milliseconds.',
      examples: ['2025-11-21T08:15:00.000Z'],
    }),
    updated_timestamp: Type.String({
      format: 'date-time',
      description: 'The time of the last change of the refund, or of its creation if it has never changed.',
      examples: ['2025-11-21T08:15:02.731Z'],
    }),
  },
  { $id: 'Refund', title: 'Refund' },
);

export type RefundJson = Static<typeof refundSchema>;

export type RefundStatusName = 'PENDING' | 'COMPLETED' | 'FAILED';

/** Merchants need three states. The states on the way to the wallet's decision are all PENDING. */
const statusNames: Readonly<Record<RefundStatus, RefundStatusName | undefined>> = {
  [RefundStatus.UNSPECIFIED]: undefined,
  [RefundStatus.AWAITING_APPROVAL]: 'PENDING',
  [RefundStatus.REQUESTED]: 'PENDING',
  [RefundStatus.SENT]: 'PENDING',
  [RefundStatus.UNKNOWN]: 'PENDING',
  [RefundStatus.COMPLETED]: 'COMPLETED',
  [RefundStatus.FAILED]: 'FAILED',
};

/**
 * Writes a refund as merchants see it.
 * @throws TypeError when the refund lacks a status or a time, which every stored refund has
 */
export function refundToJson(refund: Refund): RefundJson {
  return {
    refund_id: refund.refundId,
    refund_number: refund.refundNumber,
    order_number: refund.orderNumber,
    status: requireField(statusNames[refund.status], refund, 'status'),
    amount: refund.amount,
    currency: refund.currency,
    reason: refund.reason,
    created_timestamp: isoTime(requireField(refund.createTime, refund, 'create_time')),
    updated_timestamp: isoTime(requireField(refund.updateTime, refund, 'update_time')),
  };
}

function requireField<T>(value: T | undefined, refund: Refund, field: string): T {
  if (value === undefined) throw new TypeError(`refund ${refund.refundId} has no ${field} that can be shown`);
  return value;
}
