/** Seconds to wait before the first looks at a wallet that has not decided: soon, while the payer types. */
const firstWaitsSeconds = [2, 3, 3, 5, 5, 10, 15];
const minLaterWaitMs = 30_000;
const maxLaterWaitMs = 60 * 60_000;

export interface OpenAttempt {
  /** How often it has been taken so far. */
  readonly leases: number;
  readonly createdAt: Date;
  /** When its order's payment session ends. */
  readonly sessionEndsAt: Date;
}

/**
 * When to ask the wallet again about an attempt that is still open. Later looks are a tenth of the attempt's age apart:
 * news of a wallet that was away for a while is heard soon after, and an attempt that nobody ever decides costs little.
 * One look is at the end of the session, since the order ends with what it says.
 */
export function nextLook(now: Date, { leases, createdAt, sessionEndsAt }: OpenAttempt): Date {
  const firstWait = firstWaitsSeconds[Math.max(leases - 1, 0)];
  const ageMs = now.getTime() - createdAt.getTime();
  const laterWaitMs = Math.min(Math.max(ageMs / 10, minLaterWaitMs), maxLaterWaitMs);
  const next = new Date(now.getTime() + (firstWait === undefined ? laterWaitMs : firstWait * 1000));
  return sessionEndsAt > now && sessionEndsAt < next ? sessionEndsAt : next;
}
