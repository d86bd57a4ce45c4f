/** How many of a wallet's slots each merchant uses. */
export interface MerchantShare {
  /** Merchants that have reached their limit. */
  readonly full: () => string[];
  /** How many of `slots` can be used by the other merchants, without any of them exceeding its limit. */
  readonly free: (slots: number) => number;
  readonly take: (merchantId: string) => void;
  readonly giveBack: (merchantId: string) => void;
}

/**
 * Reserves a quarter of a wallet's slots from the merchant that has all the others. So one merchant's hanging payments
 * do not block another's.
 */
export function createMerchantShare(slots: number): MerchantShare {
  const most = Math.max(1, Math.floor(slots * 0.75));
  const taken = new Map<string, number>();
  return {
    full: () => [...taken].filter(([, count]) => count >= most).map(([merchantId]) => merchantId),
    free(wanted) {
      const highest = Math.max(0, ...[...taken.values()].filter((count) => count < most));
      return Math.min(wanted, most - highest);
    },
    take: (merchantId) => taken.set(merchantId, (taken.get(merchantId) ?? 0) + 1),
    giveBack(merchantId) {
      const left = (taken.get(merchantId) ?? 0) - 1;
      if (left > 0) taken.set(merchantId, left);
      else taken.delete(merchantId);
    },
  };
}
