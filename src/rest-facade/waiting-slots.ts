import type { Environment } from '../gen/gatehouse/v1/order_pb.js';

/** Whose request waits. The requests of a merchant count apart in each environment. */
export interface SlotHolder {
  readonly merchantId: string;
  readonly environment: Environment;
}

/** The requests that may wait at the same time. */
export interface WaitingSlots {
  /** Takes a slot for the holder and returns the function that frees it; undefined when the holder may take no more. */
  readonly take: (holder: SlotHolder) => (() => void) | undefined;
  /** How many are taken. */
  readonly taken: () => number;
  /** How many were refused since the start. */
  readonly refused: () => number;
}

/**
 * A holder may take another slot while there are more free slots than it holds. So a single holder gets half of all slots, and
 * two get a third each. Some slots always stay free for the next one, so a merchant's sandbox cannot use up its production.
 */
export function createWaitingSlots(total: number): WaitingSlots {
  const taken = new Map<string, number>();
  let all = 0;
  let refused = 0;
  return {
    taken: () => all,
    refused: () => refused,
    take: ({ merchantId, environment }) => {
      const holder = `${environment} ${merchantId}`;
      const own = taken.get(holder) ?? 0;
      if (own >= total - all) {
        refused += 1;
        return undefined;
      }
      taken.set(holder, own + 1);
      all += 1;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        all -= 1;
        const left = (taken.get(holder) ?? 1) - 1;
        if (left === 0) taken.delete(holder);
        else taken.set(holder, left);
      };
    },
  };
}
