/** The requests that may wait at the same time. */
export interface WaitingSlots {
  /** Takes a slot for the merchant and returns the function that frees it; undefined when the merchant may take no more. */
  readonly take: (merchantId: string) => (() => void) | undefined;
  /** How many are taken. */
  readonly taken: () => number;
}

/**
 * A merchant may take another slot while there are more free slots than it holds. So a single merchant gets half of all
 * slots, and two get a third each. Some slots always stay free for the next merchant.
 */
export function createWaitingSlots(total: number): WaitingSlots {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    taken: () => all,
    take: (merchantId) => {
      const own = taken.get(merchantId) ?? 0;
      if (own >= total - all) return undefined;
      taken.set(merchantId, own + 1);
      all += 1;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        all -= 1;
        const left = (taken.get(merchantId) ?? 1) - 1;
        if (left === 0) taken.delete(merchantId);
        else taken.set(merchantId, left);
      };
    },
  };
}
