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
  readonly left: AbortSignal;
}

/**
 * Gives the order when it is no longer PENDING, or the current order after the time, or when the process begins to stop.
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
  return async ({ order, timeoutMs, read, left }) => {
    const over = AbortSignal.any([left, draining]);
    if (isEnded(order) || timeoutMs === 0 || over.aborted) return order;
    const free = slots.take({ merchantId: order.merchantId, environment });
    if (free === undefined)
      throw new RequestFailure(
        { kind: 'too_many_requests', retryAfterSeconds, limit: 'waiting' },
        'WAITING_LIMITED',
      );
    const deadline = performance.now() + timeoutMs;
    const news = createWakeSignal();
    const begun = news.rings();
    const leave = endedOrders.listen(order.orderId, news.ring);
    // A change before the stream was open is found by a reading when it opens, or now if it is open already.
    if (endedOrders.isOpen()) news.ring();
    try {
      for (let rings = begun, pauseMs = timeoutMs; ;) {
        await news.wait(pauseMs, over, rings);
        if (left.aborted) return order;
        rings = news.rings();
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
      free();
      leave();
    }
  };
}
