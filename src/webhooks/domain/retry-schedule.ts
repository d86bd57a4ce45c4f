import type { WebhookEventType } from './delivery.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** How long is waited after each attempt of a round but the last. */
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

/** Somebody waits for what comes of a test, and sends another one when the receiver is mended. */
const testAttempts = 3;

/** How often a delivery is sent in a round, at most. */
export const attemptsInRound = (eventType: WebhookEventType): number =>
  eventType === 'webhook.test' ? testAttempts : waitsMs.length + 1;

/** A round of attempts is over then, however many were made: all the waits together, and a little. */
export const roundMs = 76 * hour;

/** Each wait is this part longer or shorter than planned, so that what failed together does not come back together. */
const jitter = 0.1;

/** A receiver may ask for a longer wait than planned, but not for ever. */
const longestRetryAfterMs = 24 * hour;

export interface FailedAttempt {
  readonly eventType: WebhookEventType;
  /** Attempts of this round, the one that failed among them. */
  readonly roundAttempts: number;
  readonly roundStartedAt: Date;
  readonly endedAt: Date;
  /** How long the receiver asked to wait. */
  readonly retryAfterMs?: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

export type NextAttempt = { readonly type: 'at'; readonly at: Date } | { readonly type: 'give_up' };

/**
 * When a delivery is tried again after an attempt that failed: 13 attempts within 76 hours, or 3 of a test. What the jitter adds up to
 * never costs the last attempt: a wait that would end after the round ends with it. A receiver that asks for longer than
 * the round lasts is not asked again. Never before `endedAt`.
 */
export function nextAttempt(failed: FailedAttempt): NextAttempt {
  const { eventType, roundAttempts, roundStartedAt, endedAt, retryAfterMs = 0, random } = failed;
  const plannedMs = roundAttempts < attemptsInRound(eventType) ? waitsMs[roundAttempts - 1] : undefined;
  const leftMs = roundStartedAt.getTime() + roundMs - endedAt.getTime();
  if (plannedMs === undefined || leftMs <= 0) return { type: 'give_up' };
  const jitteredMs = Math.round(plannedMs * (1 + jitter * (2 * random() - 1)));
  const askedMs = Math.min(retryAfterMs, longestRetryAfterMs);
  if (askedMs > leftMs) return { type: 'give_up' };
  const waitMs = Math.max(Math.min(jitteredMs, leftMs), askedMs);
  return { type: 'at', at: new Date(endedAt.getTime() + waitMs) };
}
