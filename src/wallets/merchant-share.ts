/** How many of a wallet's places each merchant has. */
export interface MerchantShare {
  /** Merchants who have as many as one may have. */
  readonly full: () => string[];
  /** How many of `places` can be given to whoever is not full, without anybody getting more than one may have. */
  readonly free: (places: number) => number;
  readonly take: (merchantId: string) => void;
  readonly giveBack: (merchantId: string) => void;
}

/**
 * Keeps a quarter of a wallet's places from whoever has all the others: what one merchant's payments hang on must not
 * keep another's waiting.
 */
export function createMerchantShare(places: number): MerchantShare {
  const most = Math.max(1, Math.floor(places * 0.75));
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
