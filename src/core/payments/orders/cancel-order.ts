import type { NewId } from '../../../contract/public-id.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import type { Actor } from '../../../platform/rpc/actor.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Order } from '../../domain/order.ts';
import { transition } from '../../domain/transition.ts';
import type { RejectionOf } from '../../domain/transition.ts';
import { decisionOf } from '../changes/change-orders.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { byOrderId } from '../changes/read-order.ts';

/** Cancels an order. Errors: ORDER_NOT_FOUND, or RECOVERING while a restore may have lost it; PAYMENT_IN_PROGRESS, ORDER_NOT_PAYABLE. */
export type CancelOrder = (name: Cancellation['name'], by: Actor) => Promise<Order>;

interface Cancellation {
  readonly name: Pick<Order, 'merchantId' | 'environment' | 'id'>;
  readonly by: Actor;
}

export interface CancelOrderParts {
  readonly changes: Pick<OrderChanges, 'share'>;
  readonly gate: Pick<PaymentGate, 'missing'>;
  readonly newId: NewId;
}

export function createCancelOrder({ changes, gate, newId }: CancelOrderParts): CancelOrder {
  const cancel = changes.share({
    orders: byOrderId,
    nameOf: ({ name }: Cancellation) => name,
    requestIdOf: ({ by }) => by.requestId,
    load: () => undefined,
    read: () => undefined,
    decide: (order, _context, now) => decisionOf(transition(order, { type: 'cancel' }, now)),
    write(em, { changed: { order } }, { taken: { call }, now }) {
      const { merchantId, environment, id: targetId, orderNumber } = order;
      const details = { environment: environment.toLowerCase(), order_number: orderNumber };
      recordAudit(em, newId, now, call.by, { action: 'order.cancel', merchantId, targetId, details });
      return order;
    },
  });
  return async (name, by) => {
    const cancelled = await cancel({ name, by });
    if (cancelled.ok) return cancelled.value;
    throw cancelled.error === 'not_found' ? await gate.missing(name) : refusal(cancelled.error);
  };
}

function refusal(rejection: RejectionOf<'cancel'>): Error {
  switch (rejection.type) {
    case 'payment_in_progress':
      return rpcError('PAYMENT_IN_PROGRESS', 'a payment is under way; wait for its outcome');
    case 'order_is_final':
      return rpcError('ORDER_NOT_PAYABLE', alreadyFinal[rejection.status]);
  }
}

/** A caller that repeats a cancellation after a lost answer gets the first of these. */
const alreadyFinal = {
  FAILED: 'the order is FAILED already, so nothing is left to cancel',
  EXPIRED: 'the order is EXPIRED already, so nothing is left to cancel',
  COMPLETED: 'the order is COMPLETED, so it cannot be cancelled; create a refund instead',
} as const;
