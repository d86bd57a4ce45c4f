import { OrderStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { Environment, Order } from '../gen/gatehouse/v1/order_pb.js';
import { createWakeSignal } from '../platform/wake-signal.ts';
import type { EndedOrders } from './ended-orders.ts';
import { RequestFailure } from './request-failure.ts';
import type { WaitingSlots } from './waiting-slots.ts';

export interface OrderWait {
  /** The order as it was read just now. */
  readonly order: Order;
  readonly timeoutMs: number;
  /** Reads the order again. */
  readonly read: () => Promise<Order>;
  /** Aborts when the client disconnects. */
  readonly clientGone: AbortSignal;
}

/**
 * Returns the order when it is no longer PENDING. When the time is over, or the process begins to stop, returns the current order.
 * @throws RequestFailure WAITING_LIMITED when too many requests of the merchant wait in this environment; the error of the last reading
 */
export type WaitUntilEnded = (wait: OrderWait) => Promise<Order>;

export interface OrderWaitParts {
  readonly endedOrders: EndedOrders;
  readonly slots: WaitingSlots;
  /** The environment of all its orders. */
  readonly environment: Environment;
  readonly draining: AbortSignal;
}

const retryAfterSeconds = 1;
/** The delay after a failed reading. */
const readAgainMs = 500;

const isEnded = ({ status }: Order): boolean => status !== OrderStatus.PENDING;

export function createOrderWaits({
  endedOrders,
  slots,
  environment,
  draining,
}: OrderWaitParts): WaitUntilEnded {
  return async ({ order, timeoutMs, read, clientGone }) => {
    const over = AbortSignal.any([clientGone, draining]);
    if (isEnded(order) || timeoutMs === 0 || over.aborted) return order;
    const giveSlotBack = slots.take({ merchantId: order.merchantId, environment });
    if (giveSlotBack === undefined)
      throw new RequestFailure(
        { kind: 'too_many_requests', retryAfterSeconds, limit: 'waiting' },
        'WAITING_LIMITED',
      );
    const deadline = performance.now() + timeoutMs;
    const wake = createWakeSignal();
    const begun = wake.rings();
    const stopListening = endedOrders.listen(order.orderId, wake.ring);
    // A change from before the stream opened is found by reading the order again: when the stream opens, or now if it is open.
    if (endedOrders.isOpen()) wake.ring();
    try {
      for (let rings = begun, pauseMs = timeoutMs; ;) {
        await wake.wait(pauseMs, over, rings);
        if (clientGone.aborted) return order;
        rings = wake.rings();
        const leftMs = deadline - performance.now();
        const isLast = leftMs <= 0 || draining.aborted;
        try {
          const current = await read();
          if (isEnded(current) || isLast) return current;
          pauseMs = leftMs;
        } catch (error) {
          if (isLast) throw error;
          pauseMs = Math.min(leftMs, readAgainMs);
        }
      }
    } finally {
      giveSlotBack();
      stopListening();
    }
  };
}
