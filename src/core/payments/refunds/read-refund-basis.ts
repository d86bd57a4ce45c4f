import type { EntityManager } from '@mikro-orm/postgresql';
import { PaymentAttemptRow, RefundRow, StrayPaymentRow } from '../../database/order-entities.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import type { Refund } from '../../domain/refund-record.ts';
import { refundOf } from '../changes/refund-row.ts';

/** What the database knows about the refunds of an order. */
export interface StoredRefundBasis {
  readonly refunds: readonly Refund[];
  /** The transaction that paid the order; '' when nothing has. */
  readonly providerTransactionId: string;
  readonly isStrayToo: boolean;
}

/** Reads the facts that decide about a refund. They stay true while the order is locked. */
export async function readRefundBasis(
  em: EntityManager,
  { merchantId, id: orderId, latestAttemptId }: Pick<OrderRow, 'merchantId' | 'id' | 'latestAttemptId'>,
): Promise<StoredRefundBasis> {
  const rows = await em.find(RefundRow, { merchantId, orderId }, { orderBy: { id: 'asc' } });
  const paid =
    latestAttemptId == null
      ? null
      : await em.findOne(PaymentAttemptRow, { merchantId, id: latestAttemptId, status: 'SUCCEEDED' });
  const providerTransactionId = paid?.providerTransactionId ?? '';
  const strays =
    providerTransactionId === ''
      ? 0
      : await em.count(StrayPaymentRow, { merchantId, orderId, providerTransactionId });
  return { refunds: rows.map(refundOf), providerTransactionId, isStrayToo: strays > 0 };
}
