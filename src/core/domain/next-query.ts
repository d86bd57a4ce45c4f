/** Seconds before each of the first queries of an undecided attempt. They are short, because the payer is entering the PIN. */
const firstWaitsSeconds = [2, 3, 3, 5, 5, 10, 15];
const minLaterWaitMs = 30_000;
const maxLaterWaitMs = 60 * 60_000;

/** A requested wait outside this range is set to the nearer bound. A shorter one is no pause, and a longer one may be an error. */
const minRequestedWaitMs = 1_000;
const maxRequestedWaitMs = 5 * 60_000;
/** The latest time for a repeated request, before the end of the prompt, so that the payer can still answer. */
const lastSendBeforeEndMs = 30_000;

export interface OpenAttempt {
  /** How often the attempt has been leased. */
  readonly leases: number;
  readonly createdAt: Date;
  /** When its order's payment session expires. */
  readonly sessionEndsAt: Date;
  /** Until when the payer may be asked to confirm. */
  readonly promptUntil: Date;
  /** The wait that the wallet requested; 0 when it requested none. */
  readonly retryAfterMs: number;
}

/**
 * When to query the wallet again about an open attempt. The interval of later queries is a tenth of the attempt's age, from 30 s to
 * an hour. So a recovered wallet is queried soon, and an attempt that is never decided costs little. The wait that a wallet requests
 * ends at the last moment at which a lost request can be sent again. One query is at the end of the session, because its answer ends
 * the order.
 */
export function nextQueryTime(now: Date, attempt: OpenAttempt): Date {
  const ourTime = new Date(now.getTime() + ownWaitMs(now, attempt));
  const walletsTime = requestedWaitEnd(now, attempt);
  const next = walletsTime > ourTime ? walletsTime : ourTime;
  const { sessionEndsAt } = attempt;
  return sessionEndsAt > now && sessionEndsAt < next ? sessionEndsAt : next;
}

function ownWaitMs(now: Date, { leases, createdAt }: OpenAttempt): number {
  const firstWait = firstWaitsSeconds[Math.max(leases - 1, 0)];
  if (firstWait !== undefined) return firstWait * 1000;
  const ageMs = now.getTime() - createdAt.getTime();
  return Math.min(Math.max(ageMs / 10, minLaterWaitMs), maxLaterWaitMs);
}

/** The end of the wallet's requested wait, within the accepted range. */
function requestedWaitEnd(now: Date, { retryAfterMs, promptUntil }: OpenAttempt): Date {
  if (retryAfterMs <= 0) return now;
  const acceptedMs = Math.min(Math.max(retryAfterMs, minRequestedWaitMs), maxRequestedWaitMs);
  const lastSendMs = promptUntil.getTime() - lastSendBeforeEndMs;
  const endMs = now.getTime() + acceptedMs;
  return new Date(lastSendMs > now.getTime() ? Math.min(endMs, lastSendMs) : endMs);
}
