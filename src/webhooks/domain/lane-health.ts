/** The recent failures of a lane, which decide how much is sent on it. */
export interface LaneHealth {
  readonly consecutiveFailures: number;
  /** When one delivery probes the lane, and nothing is sent before; undefined while the circuit is closed. */
  readonly probeAt: Date | undefined;
}

/** The number of consecutive failures that opens a lane's circuit. */
export const failuresBeforeOpen = 5;
const firstCooldownMs = 5_000;
const longestCooldownMs = 5 * 60_000;
/** Each wait varies by up to this fraction, so that lanes that failed together are not probed together. */
const jitter = 0.2;

/** The longest time for which a circuit stays open after an attempt. */
export const maxCooldownMs = longestCooldownMs * (1 + jitter);

/** The most deliveries that a healthy lane sends at the same time. */
export const maxInFlight = 8;

/** The facts of an attempt that change the health of its lane. */
export interface LaneAttempt {
  readonly isDelivered: boolean;
  readonly endedAt: Date;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/**
 * A lane's health after an attempt on it. A success closes the circuit. The fifth failure in a row opens it for 5 seconds.
 * Each failed probe doubles the wait, up to 5 minutes, give or take a fifth. Attempts that were under way when the circuit
 * opened do not prolong the wait when they fail.
 */
export function healthAfter(health: LaneHealth, { isDelivered, endedAt, random }: LaneAttempt): LaneHealth {
  if (isDelivered) return { consecutiveFailures: 0, probeAt: undefined };
  if (health.probeAt !== undefined && endedAt < health.probeAt) return health;
  const consecutiveFailures = health.consecutiveFailures + 1;
  if (consecutiveFailures < failuresBeforeOpen) return { consecutiveFailures, probeAt: undefined };
  const plannedMs = Math.min(
    firstCooldownMs * 2 ** (consecutiveFailures - failuresBeforeOpen),
    longestCooldownMs,
  );
  const cooldownMs = Math.round(plannedMs * (1 + jitter * (2 * random() - 1)));
  return { consecutiveFailures, probeAt: new Date(endedAt.getTime() + cooldownMs) };
}

/** The number of deliveries that a newly leased lane sends at the same time: one if its latest attempt failed. */
export const firstInFlight = ({ consecutiveFailures }: LaneHealth): number =>
  consecutiveFailures === 0 ? 2 : 1;

/** The same number after an attempt. A success doubles it up to the maximum, and a failure sets it to one. */
export const inFlightAfter = (current: number, isDelivered: boolean): number =>
  isDelivered ? Math.min(current * 2, maxInFlight) : 1;
