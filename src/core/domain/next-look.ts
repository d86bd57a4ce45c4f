/** Seconds to wait before the first looks at a wallet that has not decided: soon, while the payer types. */
const firstWaitsSeconds = [2, 3, 3, 5, 5, 10, 15];
const minLaterWaitMs = 30_000;
const maxLaterWaitMs = 60 * 60_000;

/** How much of what a wallet asks for is heeded: less is no wait, and more may be a slip. */
const minHeededMs = 1_000;
const maxHeededMs = 5 * 60_000;
/** How long before the end of the prompt a request is sent again at the latest, so that it can still be answered. */
const lastSendBeforeEndMs = 30_000;

export interface OpenAttempt {
  /** How often it has been taken so far. */
  readonly leases: number;
  readonly createdAt: Date;
  /** When its order's payment session ends. */
  readonly sessionEndsAt: Date;
  /** Until when the payer may be asked to confirm. */
  readonly promptUntil: Date;
  /** How long the wallet asked to be left alone; 0 when it did not. */
  readonly retryAfterMs: number;
}

/**
 * When to ask the wallet again about an attempt that is still open. Later looks are a tenth of the attempt's age apart:
 * news of a wallet that was away for a while is heard soon after, and an attempt that nobody ever decides costs little.
 * A wallet that asks for more time gets it, up to the last moment at which a request that it never took can be sent
 * again. One look is at the end of the session, since the order ends with what it says.
 */
export function nextLook(now: Date, attempt: OpenAttempt): Date {
  const own = new Date(now.getTime() + ownWaitMs(now, attempt));
  const asked = latestHeeded(now, attempt);
  const next = asked > own ? asked : own;
  const { sessionEndsAt } = attempt;
  return sessionEndsAt > now && sessionEndsAt < next ? sessionEndsAt : next;
}

function ownWaitMs(now: Date, { leases, createdAt }: OpenAttempt): number {
  const firstWait = firstWaitsSeconds[Math.max(leases - 1, 0)];
  if (firstWait !== undefined) return firstWait * 1000;
  const ageMs = now.getTime() - createdAt.getTime();
  return Math.min(Math.max(ageMs / 10, minLaterWaitMs), maxLaterWaitMs);
}

/** The end of the wait that the wallet asked for, as far as it is heeded. */
function latestHeeded(now: Date, { retryAfterMs, promptUntil }: OpenAttempt): Date {
  if (retryAfterMs <= 0) return now;
  const heededMs = Math.min(Math.max(retryAfterMs, minHeededMs), maxHeededMs);
  const lastSendMs = promptUntil.getTime() - lastSendBeforeEndMs;
  const endMs = now.getTime() + heededMs;
  return new Date(lastSendMs > now.getTime() ? Math.min(endMs, lastSendMs) : endMs);
}
