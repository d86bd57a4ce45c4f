import { ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import type { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';
import type { Logger } from '../platform/logger.ts';
import { pause } from '../platform/pause.ts';
import { reasonOf } from '../platform/rpc/rpc-error.ts';

/** Announces which orders may have ended. One stream from core serves all waiting requests of the process. */
export interface EndedOrders {
  /**
   * Calls `onNews` when the order has ended. It also calls it when the stream opens, and at intervals while the stream cannot be
   * opened, because an end may have been missed. If the stream is open already, the caller reads the order once itself. Returns
   * the function that stops the calls.
   */
  readonly listen: (orderId: string, onNews: () => void) => () => void;
  /** Whether every later end of an order will be announced. */
  readonly isOpen: () => boolean;
  readonly close: () => Promise<void>;
}

export interface EndedOrdersOptions {
  readonly orders: Client<typeof OrderService>;
  readonly logger: Logger;
  /** How long the stream stays open without a listener. */
  readonly lingerMs?: number;
}

const defaultLingerMs = 10_000;
const reopenAfterMs = 100;
/** How often waiting orders are read while no stream can be opened. */
const unopenedMs = 2_000;
/** Core sends something at least every 15 seconds, and at once at the start. */
const silenceMs = { first: 2_000, later: 20_000 };

/** Whether core ends the stream because it stops, for example in a rolling restart. */
const isStopping = (error: unknown): boolean => reasonOf(ConnectError.from(error)) === 'SERVER_DRAINING';

export function createEndedOrders({
  orders,
  logger,
  lingerMs = defaultLingerMs,
}: EndedOrdersOptions): EndedOrders {
  const listeners = new Map<string, Set<() => void>>();
  const closing = new AbortController();
  let running: { readonly leave: AbortController; readonly ended: Promise<void> } | undefined;
  let lingering: NodeJS.Timeout | undefined;
  let isOpen = false;
  let isUnreachable = false;

  const notifyAll = (): void => {
    for (const each of listeners.values()) for (const onNews of each) onNews();
  };
  /** Reads one stream until it ends. Never rejects. */
  const follow = async (leave: AbortSignal): Promise<void> => {
    const silent = new AbortController();
    let timer = setTimeout(() => silent.abort(), silenceMs.first);
    try {
      const stream = orders.watchEndedOrders({}, { signal: AbortSignal.any([leave, silent.signal]) });
      for await (const { orderIds } of stream) {
        clearTimeout(timer);
        timer = setTimeout(() => silent.abort(), silenceMs.later);
        if (!isOpen) {
          isOpen = true;
          if (isUnreachable) logger.info('the stream of ended orders is open again');
          isUnreachable = false;
          notifyAll();
        }
        for (const orderId of orderIds) for (const onNews of listeners.get(orderId) ?? []) onNews();
      }
    } catch (error) {
      if (!leave.aborted && !isUnreachable) {
        const level = isStopping(error) ? 'info' : 'warn';
        logger[level]({ err: error }, 'the stream of ended orders was interrupted; opening it again');
      }
      if (!leave.aborted) isUnreachable = true;
    } finally {
      clearTimeout(timer);
      isOpen = false;
    }
  };
  const keepOpen = async (leave: AbortSignal): Promise<void> => {
    let notifiedMs = performance.now();
    while (!leave.aborted) {
      await follow(leave);
      if (performance.now() - notifiedMs >= unopenedMs) {
        notifiedMs = performance.now();
        notifyAll();
      }
      await pause(reopenAfterMs, leave);
    }
  };
  const start = (): void => {
    clearTimeout(lingering);
    if (running !== undefined || closing.signal.aborted) return;
    const leave = new AbortController();
    running = { leave, ended: keepOpen(leave.signal) };
  };
  const stop = async (): Promise<void> => {
    const stopped = running;
    running = undefined;
    stopped?.leave.abort();
    await stopped?.ended;
  };

  return {
    listen(orderId, onNews) {
      const others = listeners.get(orderId);
      if (others === undefined) listeners.set(orderId, new Set([onNews]));
      else others.add(onNews);
      start();
      return () => {
        const remaining = listeners.get(orderId);
        remaining?.delete(onNews);
        if (remaining?.size === 0) listeners.delete(orderId);
        if (listeners.size > 0) return;
        clearTimeout(lingering);
        lingering = setTimeout(() => void stop(), lingerMs).unref();
      };
    },
    isOpen: () => isOpen,
    async close() {
      closing.abort();
      clearTimeout(lingering);
      await stop();
    },
  };
}
