/**
 * The entries that are kept per second, for each merchant and in total. Successes and failures have separate limits, so that
 * failures stay visible under any load. More entries would cost every payment, and are rarely read.
 */
const keptPerSecond = { perMerchant: 50, together: 300 };

/** Counts an entry, unless its merchant or all merchants together have used up their share of this second. */
export type CountWithinShare = (merchant: string, status: number) => boolean;

/** `nowMs`: a monotonic clock, in milliseconds. */
export function createRequestLogShare(nowMs: () => number): CountWithinShare {
  const shares = new Map<string, { succeeded: number; others: number }>();
  const together = { succeeded: 0, others: 0 };
  let secondEndsMs = 0;
  return (merchant, status) => {
    if (nowMs() >= secondEndsMs) {
      shares.clear();
      together.succeeded = 0;
      together.others = 0;
      secondEndsMs = nowMs() + 1_000;
    }
    const kind = status < 400 ? 'succeeded' : 'others';
    let share = shares.get(merchant);
    if (share === undefined) shares.set(merchant, (share = { succeeded: 0, others: 0 }));
    if (share[kind] >= keptPerSecond.perMerchant || together[kind] >= keptPerSecond.together) return false;
    share[kind] += 1;
    together[kind] += 1;
    return true;
  };
}
