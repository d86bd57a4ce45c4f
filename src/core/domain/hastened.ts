/** How long exchanges with a wallet count as recent. */
export const recentMs = 10_000;
/** More than the queries and callbacks of a usual payment within that time. */
const maxRecent = 20;

/** Whether there were so many exchanges recently that further hints wait, and further callbacks are only counted. */
export const isFlooded = (recentExchanges: number): boolean => recentExchanges >= maxRecent;

/**
 * The time of the next query after a hint about an attempt, refund or reversal. It is now, or ten seconds later if its attempt has had 20
 * recent exchanges with the wallet. Callbacks count as exchanges. So a wallet that repeats its callbacks, or another sender who
 * knows a callback URL, cannot make Gatehouse query a wallet without a pause.
 */
export const hastenedTo = (recentExchanges: number, now: Date): Date =>
  isFlooded(recentExchanges) ? new Date(now.getTime() + recentMs) : now;

/** The earlier of the two times. A query that is due already is never delayed. */
export const dueNoLater = (dueAt: Date | null | undefined, hastened: Date): Date =>
  dueAt == null || dueAt > hastened ? hastened : dueAt;
