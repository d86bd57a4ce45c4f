import { LRUCache } from 'lru-cache';
import type { Order } from '../gen/gatehouse/v1/order_pb.js';
import { OrderStatus } from '../gen/gatehouse/v1/order_pb.js';
import { atMost } from '../platform/at-most.ts';

/** The body of verify's answer about an ended order, from memory. Such an order changes only by an erasure or a restore. */
export interface EndedAnswers {
  /** Undefined unless the order was verified with the same version and had ended. Also undefined when there was no room to keep it. */
  readonly find: (name: OrderName) => string | undefined;
  /** Keeps the body, unless the order is PENDING or has no version. */
  readonly keep: (name: OrderName, order: Pick<Order, 'status'>, body: string) => void;
}

export interface OrderName {
  readonly merchantId: string;
  /** Core replaces it when it changes ended orders of the merchant. */
  readonly endedOrdersVersion: string;
  readonly orderNumber: string;
}

const maxKept = 10_000;
/** The limit of all kept answers, in characters. Each takes one byte, or two outside of Latin-1. */
const maxLength = 8 * 1024 * 1024;
/** A limit for changes that core does not know of, such as an operator's SQL. */
const keptForMs = 10 * 60_000;

// An id contains no space.
const keyOf = ({ merchantId, endedOrdersVersion, orderNumber }: OrderName): string =>
  `${merchantId} ${endedOrdersVersion} ${orderNumber}`;

export function createEndedAnswers(nowMs: () => number): EndedAnswers {
  const bodies = new LRUCache<string, string>({
    ...atMost(maxKept),
    maxSize: maxLength,
    sizeCalculation: (body, key) => body.length + key.length,
    ttl: keptForMs,
    ttlResolution: 0,
    perf: { now: nowMs },
  });
  return {
    find: (name) => bodies.get(keyOf(name)),
    keep: (name, { status }, body) => {
      if (name.endedOrdersVersion === '') return;
      if (status === OrderStatus.COMPLETED || status === OrderStatus.FAILED || status === OrderStatus.EXPIRED)
        bodies.set(keyOf(name), body);
    },
  };
}
