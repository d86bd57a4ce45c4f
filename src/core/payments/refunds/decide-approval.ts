import { lockByKey } from '../../../platform/database/find-by-key.ts';
import { dueWork } from '../../../contract/due-work.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import type { Actor } from '../../../platform/rpc/actor.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import { MerchantRow } from '../../database/merchant-entities.ts';
import { RefundRow } from '../../database/order-entities.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import { admitMerchant } from '../../domain/merchant-life-cycle.ts';
import { approveRefund, declineRefund } from '../../domain/refund.ts';
import type { Refund } from '../../domain/refund-record.ts';
import type { ApprovalRefusal, RefundStep } from '../../domain/refund.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import type { Decision } from '../changes/order-change.ts';
import { orderOfRefund } from '../changes/read-order.ts';
import { refundOf, writeRefund } from '../changes/refund-row.ts';

/** Public ids. */
export interface RefundKey {
  readonly merchantId: PublicId<'mer'>;
  readonly refundId: PublicId<'rfd'>;
}

/**
 * Approves or declines a refund, with an audit entry and an event. A repeat by the same person changes nothing. `recovering` while a
 * restore may have lost an earlier decision about it, which may have paid it. An approval is a new payment: a merchant that may not use the
 * environment now can only decline.
 */
export type DecideApproval = (
  key: RefundKey,
  verdict: { readonly type: 'approve' } | { readonly type: 'decline'; readonly reason: string },
  by: Actor,
) => Promise<Result<Refund, DecisionRefusal | 'not_found'>>;

export type DecisionRefusal = ApprovalRefusal | 'recovering' | 'suspended' | 'production_not_activated';

export interface DecideApprovalParts {
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly newId: NewId;
}

type Decided = RefundStep & Pick<Decision, 'makesDue'>;

export function createDecideApproval({ changes, newId }: DecideApprovalParts): DecideApproval {
  return ({ merchantId, refundId }, verdict, by) => {
    const key = { merchantId: storedId('mer', merchantId), id: storedId('rfd', refundId) };
    const isApproval = verdict.type === 'approve';
    return changes.change(orderOfRefund(key), {
      requestId: by.requestId,
      read: async (em, { row: order }) => ({
        row: await lockByKey(em, RefundRow, key),
        merchant: await em.findOneOrFail(MerchantRow, key.merchantId),
        takesPayments: (await readTakesPayments(em)).of(order.environment, order.merchantId),
      }),
      decide(order, { row, merchant, takesPayments }, now): Result<Decided, DecisionRefusal> {
        const decided = isApproval
          ? approveRefund(order, refundOf(row), by.actor, now)
          : declineRefund(order, refundOf(row), by.actor, now);
        if (!decided.ok) return decided;
        if (decided.value.changed !== undefined && !takesPayments) return err('recovering');
        const admitted = admitMerchant(merchant, order.environment);
        if (isApproval && decided.value.changed !== undefined && !admitted.ok) return admitted;
        const makesDue =
          isApproval && decided.value.changed !== undefined
            ? dueWork('reversals', row.environment, row.paymentOption)
            : undefined;
        return ok({ ...decided.value, makesDue });
      },
      write(em, { refund, changed }, { context: { row }, now }) {
        if (changed === undefined) return refund;
        writeRefund(em, row, refund);
        const { refundNumber: refund_number, requestedBy: requested_by } = refund;
        const reason = verdict.type === 'decline' && verdict.reason !== '' ? { reason: verdict.reason } : {};
        recordAudit(em, newId, now, by, {
          action: isApproval ? 'refund.approve' : 'refund.decline',
          merchantId,
          targetId: refundId,
          details: { refund_number, requested_by, ...reason },
        });
        return refund;
      },
    });
  };
}
