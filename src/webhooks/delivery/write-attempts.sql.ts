import type { QueryResultRow } from 'pg';
import type { Span } from '../../platform/tracing/span.ts';
import { bulkStatement, column, rowList, scalar } from '../../platform/database/bulk-statement.ts';
import type { Statement } from '../../platform/database/run-statement.ts';
import type { AttemptReport, AttemptResult, LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import type { LaneHealth } from '../domain/lane-health.ts';
import { shortResult } from './after-attempt.ts';
import type { NextStep } from './after-attempt.ts';
import { laneColumns } from './lane-arrays.ts';

/** An attempt that has ended, and the next step of its delivery. */
export interface EndedAttempt {
  readonly delivery: OutgoingDelivery;
  /** Its times are of the database's clock. */
  readonly report: AttemptReport;
  readonly endedAt: Date;
  readonly next: NextStep;
  /** The span of the attempt, for its log line. */
  readonly span?: Span | undefined;
}

/** The effect of attempts on their lane. */
export interface LaneOutcome {
  readonly lane: LaneKey;
  readonly health: LaneHealth;
  /** Null when no attempt succeeded. */
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** The end of the first failed attempt after the last success; null without such a failure. */
  readonly failingSince: Date | null;
  readonly lastAttemptResult: AttemptResult;
  readonly lastResult: string;
  /** Not empty: the lane is paused for this reason. */
  readonly pauseReason: string;
}

const states = { delivered: 'DELIVERED', again: 'PENDING', pause: 'PENDING', abandon: 'GIVEN_UP' } as const;

/** A text in PostgreSQL cannot contain NUL, but response headers can. */
const withoutNul = (text: string): string => text.replaceAll('\0', '\uFFFD');

const attempt = rowList<EndedAttempt>({
  merchant_id: column('text', ({ delivery }) => delivery.merchantId),
  id: column('text', ({ delivery }) => delivery.id),
  number: column('int', ({ delivery }) => delivery.attemptNumber),
  round_attempts: column('int', ({ delivery }) => delivery.roundAttempts),
  started_at: column('timestamptz', ({ report }) => report.startedAt),
  duration_ms: column('int', ({ report }) => report.durationMs),
  result: column('webhooks.attempt_result', ({ report }) => report.result),
  status_code: column('smallint', ({ report }) => report.statusCode),
  detail: column('text', ({ report }) => withoutNul(report.detail)),
  remote_address: column('text', ({ report }) => report.remoteAddress),
  response_body: column('bytea', ({ report }) => report.responseBody),
  retry_after: column('text', ({ report }) => withoutNul(report.retryAfter)),
  ended_at: column('timestamptz', ({ endedAt }) => endedAt),
  state: column('webhooks.delivery_state', ({ next }) => states[next.type]),
  due_at: column('timestamptz', ({ next }) => ('at' in next ? next.at : null)),
  words: column('text', ({ report }) => withoutNul(shortResult(report))),
  url: column('text', ({ delivery }) => delivery.url),
});

const outcome = rowList<LaneOutcome>({
  ...laneColumns<LaneOutcome>(({ lane }) => lane),
  consecutive_failures: column('int', ({ health }) => health.consecutiveFailures),
  resting_until: column('timestamptz', ({ health }) => health.probeAt ?? null),
  last_success_at: column('timestamptz', ({ lastSuccessAt }) => lastSuccessAt),
  last_failure_at: column('timestamptz', ({ lastFailureAt }) => lastFailureAt),
  failing_since: column('timestamptz', ({ failingSince }) => failingSince),
  last_attempt_result: column('webhooks.attempt_result', ({ lastAttemptResult }) => lastAttemptResult),
  last_result: column('text', ({ lastResult }) => withoutNul(lastResult)),
  pause_reason: column('text', ({ pauseReason }) => pauseReason),
});

/** Whether an attempt `a` determines the state of its delivery `d`. */
const decides = `a.state = 'DELIVERED' or (d.state = 'PENDING' and d.round_attempts = a.round_attempts)`;

/**
 * Each attempt is written once. An unexpected attempt number means that an earlier commit wrote it and its answer was
 * lost. A delivery that was redelivered or abandoned meanwhile keeps that state, unless it is delivered now. An attempt
 * of one round does not end or delay the next round. The write also renews the lease. So a lane with a just expired
 * lease is not leased with outdated deliveries.
 */
const statement = bulkStatement(
  'write-attempts',
  { attempt, outcome, lease_ms: scalar<number>('float8') },
  (sql) => `
with attempt as (
  select * from ${sql.attempt}
), written as (
  update webhooks.deliveries d
  set state = case when ${decides} then a.state else d.state end,
      due_at = case when ${decides} then a.due_at else d.due_at end,
      attempt_count = a.number,
      round_attempts = d.round_attempts + case when d.round_attempts = a.round_attempts then 1 else 0 end,
      last_attempt_at = a.ended_at,
      last_result = a.words,
      url = a.url,
      given_up_at = case
        when not (${decides}) then d.given_up_at
        when a.state = 'GIVEN_UP' then a.ended_at
      end,
      delivered_at = case when a.state = 'DELIVERED' then a.ended_at else d.delivered_at end
  from attempt a
  where d.merchant_id = a.merchant_id and d.id = a.id and d.attempt_count = a.number - 1
  returning d.merchant_id, d.id
), kept as (
  insert into webhooks.delivery_attempts (
    merchant_id, delivery_id, number, started_at, duration_ms, result, status_code, detail, remote_address,
    response_body, retry_after
  )
  select
    a.merchant_id, a.id, a.number, a.started_at, a.duration_ms, a.result, a.status_code, a.detail, a.remote_address,
    a.response_body, a.retry_after
  from attempt a join written using (merchant_id, id)
), outcome as (
  select * from ${sql.outcome}
)
update webhooks.lanes l
set leased_until = now() + ${sql.lease_ms} * interval '1 millisecond',
    consecutive_failures = o.consecutive_failures,
    resting_until = o.resting_until,
    last_success_at = coalesce(o.last_success_at, l.last_success_at),
    last_failure_at = coalesce(o.last_failure_at, l.last_failure_at),
    failing_since = case when o.last_success_at is null then coalesce(l.failing_since, o.failing_since) else o.failing_since end,
    last_result = o.last_result,
    last_attempt_result = o.last_attempt_result,
    paused_at = coalesce(l.paused_at, case when o.pause_reason <> '' then now() end),
    pause_reason = case when l.paused_at is null then o.pause_reason else l.pause_reason end,
    paused_by_answer = case when l.paused_at is null then o.pause_reason <> '' else l.paused_by_answer end
from outcome o
where l.merchant_id = o.merchant_id and l.environment = o.environment and l.endpoint = o.endpoint`,
);

const readWritten = bulkStatement(
  'read-written-attempts',
  {
    attempt: rowList<EndedAttempt>({
      merchant_id: column('text', ({ delivery }) => delivery.merchantId),
      id: column('text', ({ delivery }) => delivery.id),
      number: column('int', ({ delivery }) => delivery.attemptNumber),
    }),
  },
  (sql) => `
select d.id from ${sql.attempt} join webhooks.deliveries d using (merchant_id, id) where d.attempt_count >= attempt.number`,
);

/** Reads the deliveries of those attempts that an earlier transaction wrote. */
export const readingWritten = (attempts: readonly EndedAttempt[]): Statement =>
  readWritten.with({ attempt: attempts });

/** The ids of the statement's rows. */
export const deliveriesOf = (rows: readonly QueryResultRow[]): ReadonlySet<string> =>
  new Set((rows as readonly { readonly id: string }[]).map(({ id }) => id));

/** Writes the results of attempts on lanes that this transaction has locked and verified as its own. */
export const writingAttempts = (
  attempts: readonly EndedAttempt[],
  outcomes: readonly LaneOutcome[],
  leaseMs: number,
): Statement => statement.with({ attempt: attempts, outcome: outcomes, lease_ms: leaseMs });
