import { LRUCache } from 'lru-cache';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { webhookEventType } from '../intake/event-body.ts';

/** Follows the sequence numbers of orders' events. */
export interface OrderSequences {
  /** Whether an event is the one that comes next in its order, as far as one can tell. */
  readonly isNext: (event: OrderEvent) => boolean;
}

/** Only orders that have not ended are remembered, and of those the latest. */
const remembered = 100_000;

export function createOrderSequences(): OrderSequences {
  const latest = new LRUCache<string, bigint>({ max: remembered });
  return {
    isNext(event) {
      const orderId = event.order?.orderId ?? '';
      const before = latest.get(orderId);
      if (webhookEventType(event) === undefined) latest.set(orderId, event.sequence);
      else latest.delete(orderId);
      // An order that was begun before anybody looked may be anywhere.
      return before === undefined || event.sequence === before + 1n;
    },
  };
}

/** The numbers that are missing among those from 1 to the highest; a few of them, when they are many. */
export function missingNumbers(sequences: readonly bigint[]): readonly bigint[] {
  const present = new Set(sequences);
  const highest = sequences.reduce((max, each) => (each > max ? each : max), 0n);
  const missing: bigint[] = [];
  for (let number = 1n; number <= highest && missing.length < 10; number += 1n)
    if (!present.has(number)) missing.push(number);
  return missing;
}
