import type { WebhookEventType } from './delivery.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** The wait after each attempt of a round except the last. */
export const waitsMs: readonly number[] = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
  12 * hour,
  24 * hour,
  24 * hour,
];

/** A developer waits for the result of a test, and sends another test after repairing the receiver. */
const testAttempts = 3;

/** The maximum number of attempts in a round. */
export const attemptsInRound = (eventType: WebhookEventType): number =>
  eventType === 'webhook.test' ? testAttempts : waitsMs.length + 1;

/** A round of attempts ends after this time at the latest. It is a little more than the sum of the waits. */
export const roundMs = 76 * hour;

/** Each wait varies by up to this fraction, so that deliveries that failed together are not sent again together. */
const jitter = 0.1;

/** The longest wait that a receiver may ask for. */
const longestRetryAfterMs = 24 * hour;

/** The longest time from an attempt to the next one. */
export const maxWaitMs = Math.max(longestRetryAfterMs, ...waitsMs) * (1 + jitter);

export interface FailedAttempt {
  readonly eventType: WebhookEventType;
  /** Attempts of this round, including the failed one. */
  readonly roundAttempts: number;
  readonly roundStartedAt: Date;
  readonly endedAt: Date;
  /** The time that the database's clock and the machine's have both reached. It decides whether the round has ended, which is final. */
  readonly reachedAt: Date;
  /** The wait that the receiver requested. */
  readonly retryAfterMs?: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

export type NextAttempt = { readonly type: 'at'; readonly at: Date } | { readonly type: 'abandon' };

/**
 * When a delivery is sent again after a failed attempt: 13 attempts within 76 hours, or 3 of a test. The jitter never costs
 * the last attempt, because a wait that would end after the round ends with the round. If the receiver requests a wait beyond
 * the end of the round, there is no other attempt. Never before `endedAt`.
 */
export function nextAttempt(failed: FailedAttempt): NextAttempt {
  const { eventType, roundAttempts, roundStartedAt, endedAt, reachedAt, retryAfterMs = 0, random } = failed;
  const plannedMs = roundAttempts < attemptsInRound(eventType) ? waitsMs[roundAttempts - 1] : undefined;
  const leftMs = roundStartedAt.getTime() + roundMs - reachedAt.getTime();
  if (plannedMs === undefined || leftMs <= 0) return { type: 'abandon' };
  const jitteredMs = Math.round(plannedMs * (1 + jitter * (2 * random() - 1)));
  const requestedMs = Math.min(retryAfterMs, longestRetryAfterMs);
  if (requestedMs > leftMs) return { type: 'abandon' };
  const waitMs = Math.max(Math.min(jitteredMs, leftMs), requestedMs);
  return { type: 'at', at: new Date(endedAt.getTime() + waitMs) };
}
