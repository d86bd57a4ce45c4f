import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { checkWebhooks } from '../../../src/cli/doctor-webhooks.ts';
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

/** A pipeline on a good day. */
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
    health: createClient(Health, transport),
    close: () => undefined,
  };
  return checkWebhooks({ address: '127.0.0.1:50053', clients, now: () => now });
}

test('a pipeline on a good day is ok in every respect', async () => {
  const found = await findings(well);

  expect(new Set(found.map(({ subject }) => subject))).toEqual(new Set(['webhooks 127.0.0.1:50053']));
  expect(found.map(({ check, result }) => [check, result])).toEqual(
    [
      ...['reachable', 'broker', 'event intake', 'deliveries', 'abandoned', 'endpoints'],
      ...['signing secrets', 'reconciler'],
    ].map((check) => [check, 'ok']),
  );
});

test.each<[string, Status, string, string, RegExp]>([
  ['events that nobody takes in', { isTakingIn: false }, 'event intake', 'failed', /no process has ingested/],
  [
    'a long backlog of events',
    { eventLag: 5_000n },
    'event intake',
    'warning',
    /^5000 events not ingested yet$/,
  ],
  [
    'a core that does not answer',
    { eventLag: undefined },
    'event intake',
    'warning',
    /number of events .* unknown/,
  ],
  ['a broker that is away', { isBrokerConnected: false }, 'broker', 'warning', /not connected/],
  [
    'deliveries that wait longer than they should',
    { dueCount: 900n, oldestDueTime: secondsAgo(95), pendingCount: 1_000n },
    'deliveries',
    'warning',
    /900 due, the oldest for 95 s; 1000 pending/,
  ],
  [
    'deliveries on their way',
    { dueCount: 3n, oldestDueTime: secondsAgo(1), pendingCount: 3n },
    'deliveries',
    'ok',
    /3 due/,
  ],
  [
    'abandoned deliveries',
    {
      givenUpCount: 4n,
      givenUpTestCount: 1n,
      shortestTried: durationFromMs(40_000),
      longestTried: durationFromMs(273_600_000),
    },
    'abandoned',
    'warning',
    /^3 in the last 24 hours, tried for 40s to 3d4h; and 1 test$/,
  ],
  [
    'abandoned deliveries, all tried for as long',
    { givenUpCount: 1n, shortestTried: durationFromMs(7_000), longestTried: durationFromMs(7_000) },
    'abandoned',
    'warning',
    /^1 in the last 24 hours, tried for 7s$/,
  ],
  [
    'abandoned deliveries, as a process of the version before tells it',
    { givenUpCount: 4n },
    'abandoned',
    'warning',
    /^4 in the last 24 hours$/,
  ],
  [
    'only tests abandoned',
    { givenUpCount: 2n, givenUpTestCount: 2n },
    'abandoned',
    'ok',
    /^none in the last 24 hours; and 2 tests$/,
  ],
  ['open circuits', { restingEndpoints: 1n }, 'endpoints', 'ok', /^0 paused, 1 with an open circuit/],
  ['paused endpoints', { pausedEndpoints: 1n }, 'endpoints', 'warning', /^1 paused, 0 with an open circuit/],
  [
    'secrets with an older key',
    { secretsWithOldKey: 7n },
    'signing secrets',
    'warning',
    /^7 still encrypted/,
  ],
  [
    'deliveries that were missing',
    { repairedCount: 2n },
    'reconciler',
    'warning',
    /created 2 missing deliveries/,
  ],
  [
    'gaps',
    {
      gaps: ['not shown'],
      findings: [{ code: ReconcilerFindingCode.EVENTS_MISSING, orderId: 'ord_1', missingSequences: [2n] }],
    },
    'reconciler',
    'failed',
    /: core's list lacks event 2 of order ord_1/,
  ],
  [
    'gaps, as a process of the version before tells them',
    { gaps: ['order ord_1 has no event'] },
    'reconciler',
    'failed',
    /ord_1 has no event/,
  ],
  ['a reconciler that stopped', { reconcileTime: secondsAgo(7_200) }, 'reconciler', 'warning', /7200 s ago/],
])('%s', async (_what, status, check, result, detail) => {
  const found = await findings({ ...well, ...status });

  const finding = found.find((each) => each.check === check);
  expect(finding).toMatchObject({ result, detail: expect.stringMatching(detail) });
  expect(finding?.advice === '').toBe(result === 'ok');
});

test('a process that is stopping is not ready', async () => {
  const [reachable] = await findings(well, ServingStatus.NOT_SERVING);

  expect(reachable).toMatchObject({ check: 'reachable', result: 'failed' });
});

test('one that does not tell how the pipeline does is reachable all the same', async () => {
  const found = await findings(new ConnectError('no such token', Code.Unauthenticated));

  expect(found.map(({ check, result }) => [check, result])).toEqual([
    ['reachable', 'ok'],
    ['pipeline', 'failed'],
  ]);
});
