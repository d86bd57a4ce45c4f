import { storedId } from '../../../contract/public-id.ts';
import type { NewId } from '../../../contract/public-id.ts';
import type { Actor } from '../../../platform/rpc/actor.ts';
import { rpcError } from '../../../contract/error-reason.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Database } from '../../database/database.ts';
import type { Order } from '../../domain/order.ts';
import { transition } from '../../domain/transition.ts';
import type { OrderChanges } from '../changes/change-order.ts';

/** Ends an order that nobody shall pay any more. Errors: ORDER_NOT_FOUND, PAYMENT_IN_PROGRESS, ORDER_NOT_PAYABLE. */
export type CancelOrder = (
  name: Pick<Order, 'merchantId' | 'environment' | 'id'>,
  by: Actor,
) => Promise<Order>;

export interface CancelOrderParts {
  readonly database: Database;
  readonly changes: OrderChanges;
  readonly newId: NewId;
  readonly now: () => Date;
  readonly onEvents: () => void;
}

export function createCancelOrder(parts: CancelOrderParts): CancelOrder {
  const { database, changes, newId, now, onEvents } = parts;
  return async ({ merchantId, environment, id }, by) => {
    const key = { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) };
    const order = await database.fork().transactional(async (em) => {
      const locked = await changes.lock(em, key);
      if (locked === undefined) {
        throw rpcError('ORDER_NOT_FOUND', 'the merchant has no such order in this environment');
      }
      const at = now();
      const cancelled = transition(locked.order, { type: 'cancel' }, at);
      if (!cancelled.ok) {
        throw cancelled.error.type === 'payment_in_progress'
          ? rpcError('PAYMENT_IN_PROGRESS', 'a payment is under way; wait for its outcome')
          : rpcError('ORDER_NOT_PAYABLE', `the order is ${locked.order.status}`);
      }
      await changes.apply(em, locked, cancelled.value, by.requestId);
      const details = { environment: environment.toLowerCase(), order_number: locked.order.orderNumber };
      recordAudit(em, newId, at, by, { action: 'order.cancel', merchantId, targetId: id, details });
      return cancelled.value.order;
    });
    onEvents();
    return order;
  };
}
