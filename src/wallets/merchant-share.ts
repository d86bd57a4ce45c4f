/** How many of a wallet's slots each merchant uses. */
export interface MerchantShare {
  /** Merchants that have reached their limit. */
  readonly full: () => string[];
  /** How many of the wanted items can be leased from the other merchants, even if all of them are of one merchant. */
  readonly free: (wanted: number) => number;
  readonly take: (merchantId: string) => void;
  readonly giveBack: (merchantId: string) => void;
}

/** Lets each merchant use three quarters of a wallet's slots, so that the hanging calls of one merchant do not block those of another. */
export function createMerchantShare(slots: number): MerchantShare {
  const maxOfOne = Math.max(1, Math.floor(slots * 0.75));
  const taken = new Map<string, number>();
  return {
    full: () => [...taken].filter(([, count]) => count >= maxOfOne).map(([merchantId]) => merchantId),
    free(wanted) {
      const highest = Math.max(0, ...[...taken.values()].filter((count) => count < maxOfOne));
      return Math.min(wanted, maxOfOne - highest);
    },
    take: (merchantId) => taken.set(merchantId, (taken.get(merchantId) ?? 0) + 1),
    giveBack(merchantId) {
      const left = (taken.get(merchantId) ?? 0) - 1;
      if (left > 0) taken.set(merchantId, left);
      else taken.delete(merchantId);
    },
  };
}
