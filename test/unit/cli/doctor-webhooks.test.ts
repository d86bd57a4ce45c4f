import { WebhookEndpointService } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { checkWebhooks } from '../../../src/cli/doctor/doctor-webhooks.ts';
import {
  GetPipelineStatusResponseSchema,
  ReconcilerFindingCode,
  WebhookService,
} from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  Health,
} from '../../../src/gen/health/v1/health_pb.js';

const now = new Date('2026-11-21T12:00:00Z');
const secondsAgo = (seconds: number) => timestampFromDate(new Date(now.getTime() - seconds * 1000));

/** A healthy pipeline. */
const well: MessageInitShape<typeof GetPipelineStatusResponseSchema> = {
  eventLag: 0n,
  isTakingIn: true,
  intakeTime: secondsAgo(2),
  isBrokerConnected: true,
  reconcileTime: secondsAgo(120),
};

type Status = typeof well;

async function findings(status: Status | ConnectError, serving = ServingStatus.SERVING) {
  const transport = createRouterTransport(({ rpc }) => {
    rpc(Health.method.check, () => ({ status: serving }));
    rpc(WebhookService.method.getPipelineStatus, () => {
      if (status instanceof ConnectError) throw status;
      return create(GetPipelineStatusResponseSchema, status);
    });
  });
  const clients = {
    webhooks: createClient(WebhookService, transport),
    webhookEndpoints: createClient(WebhookEndpointService, transport),
    health: createClient(Health, transport),
    close: () => undefined,
  };
  return checkWebhooks({ address: '127.0.0.1:50053', clients, now: () => now });
}

test('every check of a healthy pipeline is ok', async () => {
  const found = await findings(well);

  expect(new Set(found.map(({ subject }) => subject))).toEqual(new Set(['webhooks 127.0.0.1:50053']));
  expect(found.map(({ check, result }) => [check, result])).toEqual(
    [
      ...['reachable', 'broker', 'event intake', 'deliveries', 'abandoned', 'endpoints'],
      ...['signing secrets', 'awaited secrets', 'reconciler'],
    ].map((check) => [check, 'ok']),
  );
});

test('recommends to send abandoned deliveries again since a time before their schedules began', async () => {
  const found = await findings({ ...well, givenUpCount: 1n });

  // A schedule lasts up to 76 hours, and the count is of the last 24.
  expect(found.find(({ check }) => check === 'abandoned')?.advice).toContain(
    'redeliver <merchant_id> --since 7d ',
  );
});

const due = (count: bigint, seconds: number, pendingCount: bigint): Status => ({
  ...{ dueCount: count, oldestDueTime: secondsAgo(seconds), pendingCount },
});
const tried = (shortestMs: number, longestMs: number): Status => ({
  ...{ shortestTried: durationFromMs(shortestMs), longestTried: durationFromMs(longestMs) },
});
const missing = [{ code: ReconcilerFindingCode.EVENTS_MISSING, orderId: 'ord_1', missingSequences: [2n] }];

/** A status, and its one finding by check, result and code, with the detail. */
const missesEvent = /: core's list lacks event 2 of order ord_1/;

test.each<[string, Status, string, RegExp]>([
  [
    'events without intake',
    { isTakingIn: false },
    'event intake failed not_ingesting',
    /no process has ingested/,
  ],
  [
    'a backlog of events',
    { eventLag: 5_000n },
    'event intake warning late',
    /^5000 events not ingested yet$/,
  ],
  [
    'a silent core',
    { eventLag: undefined },
    'event intake warning lag_unknown',
    /number of events .* unknown/,
  ],
  [
    'deliveries that wait for a signing secret',
    { awaitedSecretCount: 2n },
    'awaited secrets warning secret_not_shown',
    /^deliveries to 2 receivers wait until a signing secret is shown$/,
  ],
  ['a disconnected broker', { isBrokerConnected: false }, 'broker warning disconnected', /not connected/],
  [
    'late deliveries',
    due(900n, 95, 1_000n),
    'deliveries warning late',
    /900 due, the oldest for 95 s; 1000 pending/,
  ],
  ['deliveries that have just become due', due(3n, 1, 3n), 'deliveries ok healthy', /3 due/],
  [
    'abandoned deliveries',
    { givenUpCount: 4n, givenUpTestCount: 1n, ...tried(40_000, 273_600_000) },
    'abandoned warning abandoned',
    /^3 in the last 24 hours, tried for 40s to 3d4h; and 1 test$/,
  ],
  [
    'abandoned deliveries, all tried for the same time',
    { givenUpCount: 1n, ...tried(7_000, 7_000) },
    'abandoned warning abandoned',
    /^1 in the last 24 hours, tried for 7s$/,
  ],
  [
    'those of a previous version',
    { givenUpCount: 4n },
    'abandoned warning abandoned',
    /^4 in the last 24 hours$/,
  ],
  [
    'abandoned tests',
    { givenUpCount: 2n, givenUpTestCount: 2n },
    'abandoned ok healthy',
    /^none in the last 24 hours; and 2 tests$/,
  ],
  ['open circuits', { restingEndpoints: 1n }, 'endpoints ok healthy', /^0 paused, 1 with an open circuit/],
  ['paused endpoints', { pausedEndpoints: 1n }, 'endpoints warning paused', /^1 paused, 0 with an open/],
  [
    'secrets with an older key',
    { secretsWithOldKey: 7n },
    'signing secrets warning old_key',
    /^7 still encrypted/,
  ],
  [
    'missing deliveries',
    { repairedCount: 2n },
    'reconciler warning repaired',
    /created 2 missing deliveries/,
  ],
  ['gaps', { gaps: ['not shown'], findings: missing }, 'reconciler failed unrepaired', missesEvent],
  [
    'a finding of a later version',
    { findings: [{ code: 99 as ReconcilerFindingCode, detail: 'in its words' }] },
    'reconciler failed unrepaired',
    /: in its words$/,
  ],
  [
    'a reconciler that has never finished',
    { reconcileTime: undefined, unreconciledSinceTime: secondsAgo(7_200) },
    'reconciler warning late',
    /never finished.*7200 s ago/,
  ],
  [
    'a reconciler that has just been started',
    { reconcileTime: undefined, unreconciledSinceTime: secondsAgo(60) },
    'reconciler ok healthy',
    /has not run yet/,
  ],
  [
    'a reconciler that has not run',
    { reconcileTime: secondsAgo(7_200) },
    'reconciler warning late',
    /7200 s ago/,
  ],
])('doctor reports %s', async (_what, status, expected, detail) => {
  const found = await findings({ ...well, ...status });

  const finding = found.find(({ check, result, code }) => `${check} ${result} ${code}` === expected);
  expect(finding?.detail).toMatch(detail);
  for (const { advice, result } of found) expect(advice === '').toBe(result === 'ok');
});

test('unrepaired findings are listed with their codes and ids', async () => {
  const finding = { code: ReconcilerFindingCode.DELIVERY_CREATED, orderId: 'ord_1', eventId: 'evt_1' };

  const found = await findings({ ...well, findings: [{ ...finding, findTime: secondsAgo(60) }] });

  expect(found.find(({ check }) => check === 'reconciler')).toMatchObject({
    findings: [
      {
        code: 'delivery_created',
        find_time: '2026-11-21T11:59:00Z',
        merchant_id: '',
        order_id: 'ord_1',
        event_id: 'evt_1',
      },
    ],
  });
});

test('a process that is stopping is not ready', async () => {
  const [reachable] = await findings(well, ServingStatus.NOT_SERVING);

  expect(reachable).toMatchObject({ check: 'reachable', result: 'failed', code: 'not_ready' });
});

test('a process that does not report the pipeline is still reachable', async () => {
  const found = await findings(new ConnectError('no such token', Code.Unauthenticated));

  expect(found.map(({ check, result, code }) => [check, result, code])).toEqual([
    ['reachable', 'ok', 'healthy'],
    ['pipeline', 'failed', 'unreachable'],
  ]);
});
