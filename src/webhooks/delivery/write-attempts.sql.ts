import type { PoolClient } from 'pg';
import { runStatement } from '../../runtime/database/run-statement.ts';
import type { AttemptReport, AttemptResult, LaneKey, OutgoingDelivery } from '../domain/delivery.ts';
import type { LaneHealth } from '../domain/lane-health.ts';
import { inFewWords } from './after-attempt.ts';
import type { NextStep } from './after-attempt.ts';
import { laneArrays } from './lane-arrays.ts';

/** An attempt that has ended, and what becomes of its delivery. */
export interface EndedAttempt {
  readonly delivery: OutgoingDelivery;
  /** Its times by the database's clock. */
  readonly report: AttemptReport;
  readonly endedAt: Date;
  readonly next: NextStep;
}

/** What attempts mean for their lane. */
export interface LaneOutcome {
  readonly lane: LaneKey;
  readonly health: LaneHealth;
  /** Null when no attempt went so. */
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** When the first that failed after the last success ended; null when none has failed since. */
  readonly failingSince: Date | null;
  readonly lastAttemptResult: AttemptResult;
  readonly lastResult: string;
  /** Not empty: the lane is to be paused for it. */
  readonly pauseReason: string;
}

/** Whether an attempt `a` says what becomes of its delivery `d`. */
const decides = `a.state = 'DELIVERED' or (d.state = 'PENDING' and d.round_attempts = a.round_attempts)`;

/**
 * An attempt is written once: where its number is not the next one it has been written before, by a commit whose answer
 * was lost. What was redelivered or given up meanwhile stays so, unless it is delivered now: an attempt of one round does
 * not end or put off the next. Writing renews the lease, so that a lane whose lease had just ended is not taken with what
 * its deliveries were before.
 */
const statement = `
with attempt as (
  select * from unnest(
    $1::text[], $2::text[], $3::int[], $4::timestamptz[], $5::int[], $6::webhooks.attempt_result[], $7::smallint[],
    $8::text[], $9::text[], $10::bytea[], $11::text[], $12::timestamptz[], $13::webhooks.delivery_state[],
    $14::timestamptz[], $15::text[], $26::int[]
  ) as t (
    merchant_id, id, number, started_at, duration_ms, result, status_code, detail, remote_address, response_body,
    retry_after, ended_at, state, due_at, words, round_attempts
  )
), written as (
  update webhooks.deliveries d
  set state = case when ${decides} then a.state else d.state end,
      due_at = case when ${decides} then a.due_at else d.due_at end,
      attempt_count = a.number,
      round_attempts = d.round_attempts + case when d.round_attempts = a.round_attempts then 1 else 0 end,
      last_attempt_at = a.ended_at,
      last_result = a.words,
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
  select * from unnest(
    $16::text[], $17::webhooks.environment[], $18::text[], $19::int[], $20::timestamptz[], $21::timestamptz[],
    $22::timestamptz[], $23::text[], $24::text[], $27::timestamptz[], $28::webhooks.attempt_result[]
  ) as t (
    merchant_id, environment, endpoint, consecutive_failures, resting_until, last_success_at, last_failure_at,
    last_result, pause_reason, failing_since, last_attempt_result
  )
)
update webhooks.lanes l
set leased_until = now() + $25::float8 * interval '1 millisecond',
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
where l.merchant_id = o.merchant_id and l.environment = o.environment and l.endpoint = o.endpoint`;

const states = { delivered: 'DELIVERED', again: 'PENDING', pause: 'PENDING', give_up: 'GIVEN_UP' } as const;

/** PostgreSQL's text has no such character, and an answer's headers may. */
const withoutNul = (text: string): string => text.replaceAll('\0', '\uFFFD');

/** Writes what came of attempts on lanes that this transaction has locked and found to be its own. */
export async function writeAttempts(
  client: PoolClient,
  attempts: readonly EndedAttempt[],
  outcomes: readonly LaneOutcome[],
  leaseMs: number,
): Promise<void> {
  await runStatement(client, {
    name: 'write-attempts',
    text: statement,
    values: [
      attempts.map(({ delivery }) => delivery.merchantId),
      attempts.map(({ delivery }) => delivery.id),
      attempts.map(({ delivery }) => delivery.attemptNumber),
      attempts.map(({ report }) => report.startedAt),
      attempts.map(({ report }) => report.durationMs),
      attempts.map(({ report }) => report.result),
      attempts.map(({ report }) => report.statusCode),
      attempts.map(({ report }) => withoutNul(report.detail)),
      attempts.map(({ report }) => report.remoteAddress),
      attempts.map(({ report }) => report.responseBody),
      attempts.map(({ report }) => withoutNul(report.retryAfter)),
      attempts.map(({ endedAt }) => endedAt),
      attempts.map(({ next }) => states[next.type]),
      attempts.map(({ next }) => ('at' in next ? next.at : null)),
      attempts.map(({ report }) => withoutNul(inFewWords(report))),
      ...laneArrays(outcomes.map(({ lane }) => lane)),
      outcomes.map(({ health }) => health.consecutiveFailures),
      outcomes.map(({ health }) => health.restingUntil ?? null),
      outcomes.map(({ lastSuccessAt }) => lastSuccessAt),
      outcomes.map(({ lastFailureAt }) => lastFailureAt),
      outcomes.map(({ lastResult }) => withoutNul(lastResult)),
      outcomes.map(({ pauseReason }) => pauseReason),
      leaseMs,
      attempts.map(({ delivery }) => delivery.roundAttempts),
      outcomes.map(({ failingSince }) => failingSince),
      outcomes.map(({ lastAttemptResult }) => lastAttemptResult),
    ],
  });
}
