import type { Changed, OrderInFull } from '../../domain/order.ts';
import { transition } from '../../domain/transition.ts';
import type { OrderStore } from '../changes/order-store.ts';

const batchSize = 200;

/** An order whose attempt is with the wallet cannot expire; it is looked at again after this long. */
const retryAfterMs = 15_000;

function expire(order: OrderInFull, now: Date): Changed | undefined {
  const expired = transition(order, { type: 'expire' }, now);
  return expired.ok ? expired.value : undefined;
}

/** Expires the orders whose session has ended, a small batch at a time, until none is left. Gives how many it looked at. */
export async function expireOrders(store: OrderStore, signal: AbortSignal): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const taken = await store.sweep(batchSize, retryAfterMs, expire);
    total += taken;
    if (taken < batchSize) break;
  }
  return total;
}
