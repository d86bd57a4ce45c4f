import { LRUCache } from 'lru-cache';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { endType } from '../intake/event-body.ts';

/** Tracks the sequence numbers of orders' events. */
export interface OrderSequences {
  /** Whether an event directly follows the latest known event of its order. True for an unknown order. */
  readonly isNext: (event: OrderEvent) => boolean;
}

/** Only the latest orders that have not ended, or have an open refund, are stored. */
const remembered = 100_000;

export function createOrderSequences(): OrderSequences {
  const latest = new LRUCache<string, bigint>({ max: remembered });
  return {
    isNext(event) {
      const orderId = event.order?.orderId ?? '';
      const before = latest.get(orderId);
      if (endType(event) === undefined) latest.set(orderId, event.sequence);
      else latest.delete(orderId);
      // Of an order from before the start of this process, the latest number is unknown.
      return before === undefined || event.sequence === before + 1n;
    },
  };
}

/** The numbers that are missing between 1 and the highest; at most the first ten. */
export function missingNumbers(sequences: readonly bigint[]): readonly bigint[] {
  const present = new Set(sequences);
  const highest = sequences.reduce((max, each) => (each > max ? each : max), 0n);
  const missing: bigint[] = [];
  for (let number = 1n; number <= highest && missing.length < 10; number += 1n)
    if (!present.has(number)) missing.push(number);
  return missing;
}
