import pTimeout from 'p-timeout';
import { Counter, Gauge } from 'prom-client';
import { deprecatedHelp } from '../../platform/metrics.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { AttemptMetrics } from '../delivery/lane-writes.ts';
import type { AttemptResult } from '../domain/delivery.ts';
import type { PipelineStatus } from './pipeline-status.ts';

const results = [
  'DELIVERED',
  'REFUSED',
  'GONE',
  'TIMED_OUT',
  'CONNECTION_FAILED',
  'UNREADABLE',
  'TLS_FAILED',
  'NAME_NOT_RESOLVED',
  'ADDRESS_NOT_ALLOWED',
] as const satisfies readonly AttemptResult[];
const environments = ['SANDBOX', 'PRODUCTION'] as const;

/** An attempt takes 15 seconds at most. */
const attemptSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
const receiptSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600];

/** Counts and durations of this process's attempts. There is no label for the merchant, because merchants are many. */
export function createAttemptMetrics({ registry, addDurations }: Metrics): AttemptMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'gatehouse_webhook_attempts_total',
    help: 'Attempts to send a webhook, by result.',
    labelNames: ['environment', 'result'],
    registers,
  });
  for (const environment of environments)
    for (const result of results)
      attempts.inc({ environment: lowerCase(environment), result: lowerCase(result) }, 0);
  const observeAttempt = addDurations({
    name: 'gatehouse_webhook_attempt_duration_seconds',
    help: 'Duration of attempts, from the name lookup to the last byte of the answer.',
    labelNames: ['environment'],
    buckets: attemptSeconds,
  });
  const observeReceipt = addDurations({
    name: 'gatehouse_webhook_commit_to_delivery_seconds',
    help: "From an order's end to the 2xx, for webhooks that the first attempt delivered.",
    labelNames: ['environment'],
    buckets: receiptSeconds,
  });
  return {
    attempted: ({ environment, body, attemptNumber }, { result, durationMs, startedAt }, span) => {
      const labels = { environment: lowerCase(environment) };
      attempts.inc({ ...labels, result: lowerCase(result) });
      observeAttempt(labels, durationMs / 1000, span);
      const occurredAt = result === 'DELIVERED' && attemptNumber === 1 ? createdAtOf(body) : undefined;
      if (occurredAt !== undefined)
        observeReceipt(labels, Math.max(0, startedAt.getTime() + durationMs - occurredAt) / 1000, span);
    },
  };
}

const lowerCase = (name: string): string => name.toLowerCase();

/** The time of the event, which the body contains near its beginning. */
function createdAtOf(body: Buffer): number | undefined {
  const [, text] = /"created_at":"([^"]+)"/.exec(body.toString('latin1', 0, 200)) ?? [];
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
}

interface StatusGauge {
  readonly name: string;
  readonly formerName?: string;
  readonly help: string;
  readonly read: (status: PipelineStatus, secondsSince: (at: Date | undefined) => number) => number;
}

/** Counts end at 10,000. NaN means unknown. */
const statusGauges: readonly StatusGauge[] = [
  {
    name: 'ingestion_active',
    formerName: 'taking_in_events',
    help: 'Whether some process ingests events: 1 or 0.',
    read: ({ isIngesting }) => (isIngesting ? 1 : 0),
  },
  {
    name: 'events_lag',
    help: 'Committed events that are not ingested; NaN while core does not answer.',
    read: ({ eventLag }) => eventLag ?? NaN,
  },
  {
    name: 'events_lag_seconds',
    help: 'Age of the oldest event that is not ingested; 0 without such an event, NaN while core does not answer.',
    read: ({ eventLag, oldestEventAt }, secondsSince) => (eventLag === 0 ? 0 : secondsSince(oldestEventAt)),
  },
  {
    name: 'deliveries_due',
    help: 'Deliveries due now at active hosts and webhook endpoints.',
    read: ({ dueCount }) => dueCount,
  },
  {
    name: 'oldest_due_seconds',
    help: 'How long the oldest due delivery at an active host or webhook endpoint has been due. Deliveries to a receiver that was sent a webhook in the last minute do not count. 0 when there is none.',
    read: ({ oldestDueAt }, secondsSince) => (oldestDueAt === undefined ? 0 : secondsSince(oldestDueAt)),
  },
  {
    name: 'deliveries_pending',
    help: 'Deliveries neither delivered nor abandoned.',
    read: ({ pendingCount }) => pendingCount,
  },
  {
    name: 'deliveries_abandoned_24h',
    formerName: 'deliveries_given_up_lately',
    help: 'Deliveries abandoned in the last 24 hours, without tests.',
    read: ({ givenUpCount, givenUpTestCount }) => givenUpCount - givenUpTestCount,
  },
  {
    name: 'secrets_with_old_key',
    help: 'Signing secrets still encrypted with an older key.',
    read: ({ secretsWithOldKey }) => secretsWithOldKey,
  },
  {
    name: 'awaited_secrets',
    help: 'Merchants and webhook endpoints with deliveries that wait until a signing secret is shown.',
    read: ({ awaitedSecretCount }) => awaitedSecretCount,
  },
  {
    name: 'deliveries_repaired_24h',
    formerName: 'repaired_lately',
    help: 'Missing deliveries that the reconciler created in the last 24 hours.',
    read: ({ repairedCount }) => repairedCount,
  },
  {
    name: 'gaps_24h',
    formerName: 'gaps_lately',
    help: 'Findings of the reconciler in the last 24 hours that it could not repair: events without a delivery, and orders whose events are missing or wrong.',
    read: ({ gapCount }) => gapCount,
  },
];

/** Gauges of the whole pipeline. They are equal in all webhooks processes. */
export function addPipelineMetrics(
  metrics: Metrics,
  readStatus: () => Promise<PipelineStatus>,
  now: () => Date,
): void {
  const secondsSince = (at: Date | undefined): number =>
    at === undefined ? NaN : Math.max(0, (now().getTime() - at.getTime()) / 1000);
  metrics.addReading('webhook pipeline', (registry) => {
    const registers = [registry];
    const gauges = statusGauges.flatMap(({ name: shortName, formerName, help, read }) => {
      const name = `gatehouse_webhook_${shortName}`;
      const gauge = new Gauge({ name, help, registers });
      if (formerName === undefined) return [{ gauge, read }];
      const former = { name: `gatehouse_webhook_${formerName}`, help: deprecatedHelp(name) };
      return [
        { gauge, read },
        { gauge: new Gauge({ ...former, registers }), read },
      ];
    });
    const endpoints = new Gauge({
      name: 'gatehouse_webhook_endpoints',
      help: 'Hosts and webhook endpoints that are active (with pending deliveries), resting (circuit open) or paused.',
      labelNames: ['state'],
      registers,
    });
    return async () => {
      const status = await readStatus();
      for (const { gauge, read } of gauges) gauge.set(read(status, secondsSince));
      endpoints.set({ state: 'active' }, status.activeEndpoints);
      endpoints.set({ state: 'resting' }, status.restingEndpoints);
      endpoints.set({ state: 'paused' }, status.pausedEndpoints);
    };
  });
}

/** The page waits no longer than this for the time of the reconciler. */
const reconcilerPatienceMs = 1_000;

/**
 * Adds the time since the reconciler last finished. What stops the reconciler, such as a lock in the database, may keep `readFinishedAt` from
 * answering too. The latest known time counts then, so that the alert fires.
 */
export function addReconcilerMetrics(
  metrics: Metrics,
  readFinishedAt: () => Promise<Date | undefined>,
  now: () => Date,
): void {
  metrics.addReading('webhook reconciler', (registry) => {
    const age = new Gauge({
      name: 'gatehouse_webhook_reconciled_seconds_ago',
      help: 'Seconds since the reconciler last finished, as far as this process knows; before its first run, since this process started.',
      registers: [registry],
    });
    let finishedAt = now();
    let reading: Promise<void> | undefined;
    const read = async (): Promise<void> => {
      try {
        finishedAt = (await readFinishedAt()) ?? finishedAt;
      } catch {
        // Another reading reports the failure.
      } finally {
        reading = undefined;
      }
    };
    return async () => {
      reading ??= read();
      await pTimeout(reading, { milliseconds: reconcilerPatienceMs, fallback: () => undefined });
      age.set(Math.max(0, (now().getTime() - finishedAt.getTime()) / 1000));
    };
  });
}
