import { publicId, storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { createFairCalls } from '../../../platform/fair-calls.ts';
import { createWakeSignal } from '../../../platform/wake-signal.ts';
import type { Order } from '../../domain/order.ts';
import type { ChangedOrders } from '../../events/changed-orders.ts';
import type { FindOrder, OrderName } from '../search/find-order.ts';

export interface OrderWait {
  readonly name: OrderName;
  /** Wait for an event after this one; undefined to wait until the order is not PENDING. */
  readonly knownSequence: bigint | undefined;
  readonly timeoutMs: number;
}

export interface AwaitedOrder {
  readonly order: Order;
  /** Whether the time passed, or the server stops, before the order differed. */
  readonly timedOut: boolean;
}

/**
 * The order as soon as it differs from what the caller knows, or at the end of the wait; undefined when it does not exist.
 * All waits share one reader of changes, and none reads its order at intervals.
 * `owner`: who waits. A single owner gets half of all waits, so that it leaves some to others.
 * Errors: OVERLOADED when too many wait; those of the database.
 */
export type WaitForOrder = (
  wait: OrderWait,
  scope: { readonly signal: AbortSignal; readonly owner: string },
) => Promise<AwaitedOrder | undefined>;

export interface WaitForOrderParts {
  readonly findOrder: FindOrder;
  readonly changedOrders: ChangedOrders;
  /** Aborts when the process begins to stop. Every wait then ends. */
  readonly draining: AbortSignal;
  /** Further waits are refused, so that memory is bounded. */
  readonly maxWaiting?: number;
}

const defaultMaxWaiting = 10_000;

export function createWaitForOrder(parts: WaitForOrderParts): WaitForOrder {
  const { findOrder, changedOrders, draining, maxWaiting = defaultMaxWaiting } = parts;
  const inTurn = createFairCalls({ maxRunning: maxWaiting, maxWaiting: 0 });

  const waitForChange = async (
    id: StoredId<'ord'>,
    { name, knownSequence, timeoutMs }: OrderWait,
    signal: AbortSignal,
  ): Promise<AwaitedOrder | undefined> => {
    const changed = createWakeSignal();
    const lost: unknown[] = [];
    const waitIsOver = AbortSignal.any([signal, draining]);
    const deadline = performance.now() + timeoutMs;
    const onLost = (error: unknown): void => {
      lost.push(error);
      changed.ring();
    };
    const leave = await changedOrders.listen({ onChanges: changed.ring, onLost }, id);
    try {
      const known = { merchantId: name.merchantId, environment: name.environment };
      for (;;) {
        const rings = changed.rings();
        const leftMs = deadline - performance.now();
        const order = await findOrder({ ...known, by: 'id', value: publicId('ord', id) }, { signal });
        if (order === undefined) return undefined;
        if (hasChanged(order, knownSequence)) return { order, timedOut: false };
        if (leftMs <= 0 || waitIsOver.aborted) return { order, timedOut: true };
        // The order is read again at the end of the wait, too.
        await changed.wait(leftMs, waitIsOver, rings);
        if (lost.length > 0) throw lost[0];
      }
    } finally {
      leave();
    }
  };

  return async (wait, { signal, owner }) => {
    const order = await findOrder(wait.name, { signal });
    if (order === undefined) return undefined;
    if (hasChanged(order, wait.knownSequence)) return { order, timedOut: false };
    return inTurn({ owner }, signal, () => waitForChange(storedId('ord', order.id), wait, signal));
  };
}

const hasChanged = (order: Order, knownSequence: bigint | undefined): boolean =>
  knownSequence === undefined ? order.status !== 'PENDING' : BigInt(order.lastEventSequence) > knownSequence;
