import { retryAfterMs } from '../../platform/http/retry-after.ts';
import type { AttemptReport, OutgoingDelivery } from '../domain/delivery.ts';
import { nextAttempt } from '../domain/retry-schedule.ts';

/** What becomes of a delivery after an attempt. */
export type NextStep =
  | { readonly type: 'delivered' }
  | { readonly type: 'again'; readonly at: Date }
  /** The receiver wants no more: it goes again when somebody resumes the endpoint. */
  | { readonly type: 'pause'; readonly at: Date }
  | { readonly type: 'give_up' };

export function afterAttempt(
  delivery: OutgoingDelivery,
  report: AttemptReport,
  endedAt: Date,
  random: () => number,
): NextStep {
  if (report.result === 'DELIVERED') return { type: 'delivered' };
  if (report.result === 'GONE') return { type: 'pause', at: endedAt };
  const askedMs = retryAfterMs(report.retryAfter, endedAt);
  const next = nextAttempt({
    eventType: delivery.eventType,
    roundAttempts: delivery.roundAttempts + 1,
    roundStartedAt: delivery.roundStartedAt,
    endedAt,
    ...(askedMs === undefined ? {} : { retryAfterMs: askedMs }),
    random,
  });
  return next.type === 'at' ? { type: 'again', at: next.at } : next;
}

/** An attempt's outcome in a few words: its status when it answered as HTTP does, else what went wrong. */
export function inFewWords({ result, statusCode, detail }: AttemptReport): string {
  const isAnswered = result === 'DELIVERED' || result === 'REFUSED' || result === 'GONE';
  return isAnswered ? String(statusCode) : detail.slice(0, 200);
}
