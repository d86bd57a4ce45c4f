import type { EntityManager } from '@mikro-orm/postgresql';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { ok } from '../../domain/result.ts';
import { transition } from '../../domain/transition.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { lockDueOrders } from '../changes/lock-order.sql.ts';
import type { Locked } from '../changes/order-change.ts';

const batchSize = 200;

/** An order whose attempt is in flight cannot expire. Its expiry is tried again after this time. */
const retryAfterMs = 15_000;

const takeDueOrders = async (em: EntityManager): Promise<Locked[]> =>
  (await lockDueOrders(em, batchSize)).map((row) => ({ row }));

/**
 * Expires the orders whose session has expired, in small batches, until none is left. Returns the number of orders it
 * tried.
 */
export async function expireOrders(
  { changeEach }: Pick<OrderChanges, 'changeEach'>,
  gate: Pick<PaymentGate, 'isOpenFor'>,
  signal: AbortSignal,
): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const taken = await changeEach(takeDueOrders, {
      requestId: '',
      read: () => undefined,
      decide(order, _context, now) {
        // A lost payment of a held merchant may have paid the order.
        if (!gate.isOpenFor(order.environment, order.merchantId)) return ok({ changed: undefined });
        const expired = transition(order, { type: 'expire' }, now);
        return ok({ changed: expired.ok ? expired.value : undefined });
      },
      write(_em, { changed }, { taken: { row }, now }) {
        if (changed === undefined) row.sweepAt = new Date(now.getTime() + retryAfterMs);
      },
    });
    total += taken.length;
    if (taken.length < batchSize) break;
  }
  return total;
}
