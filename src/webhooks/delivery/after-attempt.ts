import { retryAfterMs } from '../../platform/http/retry-after.ts';
import type { AttemptReport, AttemptResult, OutgoingDelivery } from '../domain/delivery.ts';
import { nextAttempt } from '../domain/retry-schedule.ts';
import type { FailedAttempt } from '../domain/retry-schedule.ts';

/** The decision about a delivery after an attempt. */
export type NextStep =
  | { readonly type: 'delivered' }
  | { readonly type: 'again'; readonly at: Date }
  /** The receiver answered 410. The delivery is sent again after the endpoint is resumed. */
  | { readonly type: 'pause'; readonly at: Date }
  | { readonly type: 'abandon' };

/**
 * Decides from the receiver's answer. `random` spreads the retries of many deliveries. `endedAt` is of the database's clock, as all schedules.
 * `reachedAt` decides whether the schedule has ended: see `nextAttempt`.
 */
export function afterAttempt(
  delivery: OutgoingDelivery,
  report: Pick<AttemptReport, 'result' | 'retryAfter'>,
  { endedAt, reachedAt }: Pick<FailedAttempt, 'endedAt' | 'reachedAt'>,
  random: () => number,
): NextStep {
  if (report.result === 'DELIVERED') return { type: 'delivered' };
  if (report.result === 'GONE') return { type: 'pause', at: endedAt };
  const requestedMs = retryAfterMs(report.retryAfter, endedAt);
  const next = nextAttempt({
    eventType: delivery.eventType,
    roundAttempts: delivery.roundAttempts + 1,
    roundStartedAt: delivery.roundStartedAt,
    endedAt,
    reachedAt,
    ...(requestedMs === undefined ? {} : { retryAfterMs: requestedMs }),
    random,
  });
  return next.type === 'at' ? { type: 'again', at: next.at } : next;
}

const isAnswered = (result: AttemptResult): boolean =>
  result === 'DELIVERED' || result === 'REFUSED' || result === 'GONE';

/**
 * The result of an attempt as stored on deliveries and lanes. It is the status of a complete response, else the start
 * of the reason.
 */
export const shortResult = ({ result, statusCode, detail }: AttemptReport): string =>
  isAnswered(result) ? String(statusCode) : detail.slice(0, 200);

/** The status in a stored result; 0 if the result contains none. The inverse of `shortResult`. */
export const statusOf = (result: AttemptResult | null, stored: string): number =>
  result !== null && isAnswered(result) ? Number(stored) : 0;
