import type { NewId } from '../../../contract/public-id.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import type { Actor } from '../../../platform/rpc/actor.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Order } from '../../domain/order.ts';
import { transition } from '../../domain/transition.ts';
import type { RejectionOf } from '../../domain/transition.ts';
import { decisionOf } from '../changes/change-orders.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { orderOfId } from '../changes/read-order.ts';

/** Cancels an order. Errors: ORDER_NOT_FOUND, PAYMENT_IN_PROGRESS, ORDER_NOT_PAYABLE. */
export type CancelOrder = (
  name: Pick<Order, 'merchantId' | 'environment' | 'id'>,
  by: Actor,
) => Promise<Order>;

export interface CancelOrderParts {
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly newId: NewId;
}

export function createCancelOrder({ changes, newId }: CancelOrderParts): CancelOrder {
  return async (name, by) => {
    const cancelled = await changes.change(orderOfId(name), {
      requestId: by.requestId,
      read: () => undefined,
      decide: (order, _context, now) => decisionOf(transition(order, { type: 'cancel' }, now)),
      write(em, { changed: { order } }, { now }) {
        const { merchantId, environment, id: targetId, orderNumber } = order;
        const details = { environment: environment.toLowerCase(), order_number: orderNumber };
        recordAudit(em, newId, now, by, { action: 'order.cancel', merchantId, targetId, details });
        return order;
      },
    });
    if (cancelled.ok) return cancelled.value;
    throw refusal(cancelled.error);
  };
}

function refusal(rejection: RejectionOf<'cancel'> | 'not_found'): Error {
  if (rejection === 'not_found')
    return rpcError('ORDER_NOT_FOUND', 'the merchant has no such order in this environment');
  switch (rejection.type) {
    case 'payment_in_progress':
      return rpcError('PAYMENT_IN_PROGRESS', 'a payment is under way; wait for its outcome');
    case 'order_is_final':
      return rpcError('ORDER_NOT_PAYABLE', `the order is ${rejection.status}`);
  }
}
