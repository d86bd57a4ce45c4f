import { LRUCache } from 'lru-cache';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { endType } from '../intake/event-body.ts';
import { atMost } from '../../platform/at-most.ts';

/** Tracks the sequence numbers of orders' events. */
export interface OrderSequences {
  /** Compares events, in the order of core's list, with the latest known ones. */
  readonly examine: (events: readonly OrderEvent[]) => ExaminedEvents;
}

export interface ExaminedEvents {
  /** The events that do not directly follow the latest known event of their order. Contains no event of an unknown order. */
  readonly suspicious: readonly OrderEvent[];
  /** Makes the examined events known. Without this call, they can be examined again. */
  readonly remember: () => void;
}

/** Only the latest orders that have not ended, or have an open refund, are stored. */
const remembered = 100_000;

export function createOrderSequences(): OrderSequences {
  const latest = new LRUCache<string, bigint>(atMost(remembered));
  return {
    examine(events) {
      /** Undefined for an order that has ended. */
      const here = new Map<string, bigint | undefined>();
      const suspicious = events.filter((event) => {
        const orderId = event.order?.orderId ?? '';
        const before = here.has(orderId) ? here.get(orderId) : latest.get(orderId);
        here.set(orderId, endType(event) === undefined ? event.sequence : undefined);
        // Of an order from before the start of this process, the latest number is unknown.
        return before !== undefined && event.sequence !== before + 1n;
      });
      return {
        suspicious,
        remember: () =>
          here.forEach((number, orderId) => {
            if (number === undefined) latest.delete(orderId);
            else latest.set(orderId, number);
          }),
      };
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
