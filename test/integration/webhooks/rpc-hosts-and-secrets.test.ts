import type { DescMethodStreaming, DescMethodUnary } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { ConnectError, Transport } from '@connectrpc/connect';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { WebhookEndpointService } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import {
  DeliveryAttemptResult,
  DeliveryState,
  EndpointState,
  ReconcilerFindingCode,
  SigningSecretState,
  WebhookService,
} from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { roles } from '../../../src/contract/roles.ts';
import type { Role } from '../../../src/contract/roles.ts';
import { listStatement } from '../../../src/webhooks/rpc/endpoint-reader.ts';
import { describeFailure, failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openWebhookDesk, quietStatus, sharedWebhookDesk } from './webhook-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedWebhookDesk(stack);
let merchantId: string;
beforeEach(async () => {
  await desk.database.pool.query('truncate webhooks.lanes cascade');
  ({ id: merchantId } = await stack.createMerchant());
});

const reader = () => desk.client('reader');
const operator = () => desk.client('operator');
const endpointAt = (index: number): string => `https://shop-${String(index).padStart(3, '0')}.example`;
const lane = (endpoint: string) => ({ merchantId, environment: Environment.SANDBOX, endpoint });
const rest = (endpoint: string) =>
  desk.database.pool.query(sql`update webhooks.lanes
    set consecutive_failures = 7, resting_until = now() + interval '1 minute' where endpoint = ${endpoint}`);

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

async function walk(own: object, between: () => Promise<unknown> = async () => {}): Promise<string[]> {
  const seen: string[] = [];
  let pageToken = '';
  do {
    const page = await reader().listEndpoints({ ...own, pageToken });
    seen.push(...page.endpoints.map(({ endpoint }) => endpoint));
    pageToken = page.nextPageToken;
    await between();
  } while (pageToken !== '');
  return seen;
}

describe('listing', () => {
  test('returns paused ones, then those with an open circuit, then active ones, each once, while others are added', async () => {
    for (let index = 0; index < 7; index += 1)
      await desk.deliver(merchantId, { endpoint: endpointAt(index) });
    await operator().pauseEndpoint(lane(endpointAt(5)));
    await rest(endpointAt(3));
    let added = 100;
    const seen = await walk({ pageSize: 2 }, () =>
      desk.deliver(merchantId, { endpoint: endpointAt(--added) }),
    );
    const old = seen.filter((endpoint) => endpoint <= endpointAt(7));
    expect(old).toEqual([5, 3, 0, 1, 2, 4, 6].map(endpointAt));
    expect(new Set(seen).size).toBe(seen.length);
  });

  test('lists those of one merchant and environment, and on request only one or failing ones', async () => {
    const { id: other } = await stack.createMerchant();
    await desk.deliver(other, { endpoint: endpointAt(1) });
    await desk.deliver(merchantId, { endpoint: endpointAt(2) });
    await desk.deliver(merchantId, { endpoint: endpointAt(3), environment: 'PRODUCTION' });
    await rest(endpointAt(2));
    expect(await walk({})).toHaveLength(3);
    expect((await walk({ merchantId })).sort()).toEqual([endpointAt(2), endpointAt(3)]);
    expect(await walk({ merchantId, environment: Environment.PRODUCTION })).toEqual([endpointAt(3)]);
    expect(await walk({ onlyInTrouble: true })).toEqual([endpointAt(2)]);
    expect(await walk({ merchantId, endpoint: endpointAt(3) })).toEqual([endpointAt(3)]);
    expect(await walk({ merchantId, endpoint: endpointAt(1) })).toEqual([]);
  });

  test('shows its state and the number of pending deliveries', async () => {
    await desk.deliver(merchantId, { endpoint: endpointAt(1) }, 12);
    await rest(endpointAt(1));
    const { endpoints } = await reader().listEndpoints({ merchantId });
    expect(endpoints).toMatchObject([
      {
        ...lane(endpointAt(1)),
        state: EndpointState.RESTING,
        consecutiveFailures: 7,
        probeTime: expect.anything(),
        pendingCount: 12n,
      },
    ]);
  });

  test('shows the start of its failures, and the result of the latest attempt', async () => {
    await desk.deliver(merchantId, { endpoint: endpointAt(1) });
    await desk.deliver(merchantId, { endpoint: endpointAt(2) });
    await desk.database.pool.query(sql`
      update webhooks.lanes set failing_since = '2026-03-01T12:00:00Z', last_attempt_result = 'TIMED_OUT',
        resting_until = now() + interval '1 minute' where endpoint = ${endpointAt(1)}`);
    await operator().pauseEndpoint(lane(endpointAt(2)));
    const { endpoints } = await reader().listEndpoints({ merchantId, onlyInTrouble: true });
    expect(endpoints).toMatchObject([
      { endpoint: endpointAt(2), pausedByAnswer: false, troubleTime: expect.anything() },
      {
        endpoint: endpointAt(1),
        troubleTime: { seconds: 1772366400n },
        lastAttemptResult: DeliveryAttemptResult.TIMED_OUT,
      },
    ]);
    expect(endpoints[0]?.lastAttemptResult).toBe(DeliveryAttemptResult.UNSPECIFIED);
  });

  test('reads no more than its page of 20,000 failing ones, of all merchants', async () => {
    await desk.database.pool.query(`
      insert into webhooks.lanes (merchant_id, environment, endpoint, resting_until, paused_at, created_at)
      select 'mer_' || lpad((n % 1000)::text, 26, '0'), 'SANDBOX', 'https://shop-' || n || '.example', now(),
        case when n % 3 = 0 then now() end, now()
      from generate_series(1, 20000) n`);
    await desk.database.pool.query('analyze webhooks.lanes');
    const filter = {
      merchantId: undefined,
      environment: 'SANDBOX',
      endpoint: undefined,
      onlyInactive: true,
      withWebhookEndpoints: true,
      after: `1 mer_${'0'.repeat(22)}0500 SANDBOX https://shop-500.example`,
      limit: 51,
    } as const;
    for (const after of [undefined, filter.after]) {
      const { text, values } = listStatement({ ...filter, after });
      const { rows } = await desk.database.pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
        text: `explain (analyze, format json) ${text}`,
        values,
      });
      const read = nodesOf(rows[0]!['QUERY PLAN'][0].Plan).filter(
        ({ 'Relation Name': relation }) => relation === 'lanes',
      );
      expect(read.map((node) => node['Index Name']).sort()).toEqual(['lanes_in_trouble', 'lanes_pkey']);
      for (const node of read) {
        const rowsRead = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
        expect(rowsRead).toBeLessThanOrEqual(filter.limit);
      }
    }
  });

  test('names all invalid fields together', async () => {
    const bad = { merchantId: 'x', environment: 7 as Environment, pageSize: -1, pageToken: 'x' };
    expect(await wrongFields(reader().listEndpoints(bad))).toBe(
      'environment merchant_id page_size page_token',
    );
  });
});

describe('pausing and resuming', () => {
  test('have a reason, keep the deliveries, and wake the dispatchers', async () => {
    const [deliveryId = ''] = await desk.deliver(merchantId, { endpoint: endpointAt(1) });

    const paused = await operator().pauseEndpoint({ ...lane(endpointAt(1)), reason: 'moving house' });
    expect(paused.endpoint).toMatchObject({
      state: EndpointState.PAUSED,
      pauseReason: 'moving house',
      pendingCount: 1n,
    });
    expect(paused.endpoint?.probeTime).toBeUndefined();

    const rings = desk.rings.due;
    const resumed = await operator().resumeEndpoint(lane(endpointAt(1)));
    expect(resumed.endpoint).toMatchObject({ state: EndpointState.OPEN, pauseReason: '', pendingCount: 1n });
    expect(desk.rings.due).toBe(rings + 1);
    expect((await reader().getDelivery({ merchantId, deliveryId })).delivery?.state).toBe(
      DeliveryState.PENDING,
    );
  });

  test('record at least who did it when there is no reason', async () => {
    await desk.deliver(merchantId, { endpoint: endpointAt(1) });
    const headers = { 'x-gatehouse-actor': 'abebe' };
    const { endpoint } = await operator().pauseEndpoint(lane(endpointAt(1)), { headers });
    expect(endpoint?.pauseReason).toBe('operator:abebe gave no reason');
  });

  test('close an open circuit', async () => {
    await desk.deliver(merchantId, { endpoint: endpointAt(1) });
    await rest(endpointAt(1));
    const { endpoint } = await operator().resumeEndpoint(lane(endpointAt(1)));
    expect(endpoint).toMatchObject({ state: EndpointState.OPEN, consecutiveFailures: 0 });
  });

  test('are in the outbox of the audit log', async () => {
    await desk.database.pool.query('truncate webhooks.audit_outbox');
    await desk.deliver(merchantId, { endpoint: endpointAt(1) });
    await operator().pauseEndpoint({ ...lane(endpointAt(1)), reason: 'moving house' });
    await operator().resumeEndpoint(lane(endpointAt(1)));
    const { rows } = await desk.database.pool.query(`
      select * from webhooks.audit_outbox order by created_at, id`);
    expect(rows).toEqual([
      expect.objectContaining({
        action: 'endpoint.pause',
        target_id: endpointAt(1),
        details: { environment: 'SANDBOX', reason: 'moving house' },
      }),
      expect.objectContaining({ action: 'endpoint.resume', details: { environment: 'SANDBOX' } }),
    ]);
  });

  test.each(['pauseEndpoint', 'resumeEndpoint'] as const)(
    "do not find another merchant's or environment's endpoint: %s",
    async (method) => {
      const { id: other } = await stack.createMerchant();
      await desk.deliver(other, { endpoint: endpointAt(1) });
      for (const own of [
        { merchantId },
        { merchantId: other, environment: Environment.PRODUCTION },
        { merchantId: newRandomId('mer', new Date()) },
      ]) {
        expect(await failureOf(operator()[method]({ ...lane(endpointAt(1)), ...own }))).toMatchObject({
          code: 'NotFound',
          reason: 'ENDPOINT_NOT_FOUND',
        });
      }
      const bad = { merchantId: '', endpoint: 'https://Shop.example/', reason: 'a\u0000b' };
      expect(await wrongFields(operator()[method](bad))).toBe(
        `endpoint environment merchant_id${method === 'pauseEndpoint' ? ' reason' : ''}`,
      );
    },
  );

  test('accept a reason of at most 200 characters', async () => {
    await desk.deliver(merchantId, { endpoint: endpointAt(1) });
    await operator().pauseEndpoint({ ...lane(endpointAt(1)), reason: '😀'.repeat(200) });
    const long = { ...lane(endpointAt(1)), reason: 'x'.repeat(201) };
    expect(await failureOf(operator().pauseEndpoint(long))).toMatchObject({ reason: 'INVALID_FIELDS' });
  });
});

describe('a test event', () => {
  test('is a delivery like any other, with the twelve fields of an order that does not exist', async () => {
    const url = 'https://shop.example/hook?token=t';
    const { delivery } = await operator().sendTestEvent({
      merchantId,
      environment: Environment.PRODUCTION,
      url,
    });

    expect(delivery).toMatchObject({
      eventType: 'webhook.test',
      environment: Environment.PRODUCTION,
      url,
      endpoint: 'https://shop.example',
      orderId: '',
      orderNumber: '',
      state: DeliveryState.PENDING,
    });
    const { body } = await reader().getDelivery({ merchantId, deliveryId: delivery!.deliveryId });
    const json = JSON.parse(Buffer.from(body).toString()) as { data: object };
    expect(json).toMatchObject({ id: delivery?.eventId, type: 'webhook.test', environment: 'production' });
    expect(Object.keys(json.data)).toHaveLength(12);
    expect(
      JSON.stringify((await desk.database.pool.query('select * from webhooks.audit_outbox')).rows),
    ).not.toContain('token=t');
  });

  test('is not sent over http in production, nor for a merchant that does not exist', async () => {
    const request = { merchantId, environment: Environment.PRODUCTION, url: 'http://shop.example/hook' };
    expect(await failureOf(operator().sendTestEvent(request))).toMatchObject({
      issues: { url: 'must start with https:// in production' },
    });
    const nobody = {
      ...request,
      merchantId: newRandomId('mer', new Date()),
      url: 'https://shop.example/hook',
    };
    expect(await failureOf(operator().sendTestEvent(nobody))).toMatchObject({ reason: 'MERCHANT_NOT_FOUND' });
    expect(await failureOf(operator().sendTestEvent({}))).toMatchObject({
      issues: { merchant_id: expect.any(String), environment: expect.any(String), url: 'is required' },
    });
    expect(await walk({ merchantId })).toEqual([]);
  });
});

test('calls for the status of the pipeline at the same time share a reading that began after them', async () => {
  let readings = 0;
  const first = Promise.withResolvers<undefined>();
  const own = await openWebhookDesk(stack, {
    readStatus: async () => {
      readings += 1;
      const eventLag = readings;
      if (readings === 1) await first.promise;
      return { ...quietStatus, eventLag };
    },
  });
  try {
    const read = async () => (await own.client('reader').getPipelineStatus({})).eventLag;
    const earlier = read();
    await waitUntil('the first reading has begun', () => readings === 1);
    const later = Array.from({ length: 50 }, read);
    first.resolve(undefined);

    expect(await earlier).toBe(1n);
    expect(await Promise.all(later)).not.toContain(1n);
    expect(readings).toBeLessThan(10);
  } finally {
    await own.close();
  }
});

test('the status of the pipeline is returned', async () => {
  expect(await reader().getPipelineStatus({})).toMatchObject({
    isTakingIn: true,
    eventLag: 3n,
    isBrokerConnected: true,
    dueCount: 4n,
    pendingCount: 5n,
    restingEndpoints: 6n,
    pausedEndpoints: 7n,
    givenUpCount: 8n,
    secretsWithOldKey: 9n,
    repairedCount: 10n,
    gaps: ['order ord_1 has no event 2'],
    findings: [
      {
        code: ReconcilerFindingCode.EVENTS_MISSING,
        merchantId: 'mer_1',
        orderId: 'ord_1',
        missingSequences: [2n],
      },
    ],
  });
});

const sandbox = () => ({ merchantId, environment: Environment.SANDBOX });
const listedSecrets = async () =>
  (await desk.client('reader').listSigningSecrets({ merchantId })).signingSecrets;

describe('rotating a signing secret', () => {
  test('shows the secret once, and lists it without its value', async () => {
    const { signingSecret, secret } = await operator().rotateSigningSecret(sandbox());

    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(signingSecret).toMatchObject({
      merchantId,
      environment: Environment.SANDBOX,
      state: SigningSecretState.CURRENT,
      ending: secret.slice(-4),
      shown: true,
    });
    expect(signingSecret?.promoteTime).toBeUndefined();
    expect(await listedSecrets()).toEqual([signingSecret]);
    const ofProduction = { merchantId, environment: Environment.PRODUCTION };
    expect((await operator().listSigningSecrets(ofProduction)).signingSecrets).toEqual([]);
    expect(JSON.stringify(await listedSecrets(), (_key, value: unknown) => String(value))).not.toContain(
      secret,
    );
  });

  test.each([
    ['24 hours by default', undefined, 24 * 3600],
    ['the requested time', { seconds: 90n, nanos: 0 }, 90],
    ['30 days at most', { seconds: 2_592_000n }, 2_592_000],
  ])('makes the next secret current after %s', async (_name, promoteAfter, seconds) => {
    await operator().rotateSigningSecret(sandbox());
    const request = promoteAfter === undefined ? sandbox() : { ...sandbox(), promoteAfter };
    const { signingSecret } = await operator().rotateSigningSecret(request);
    const { createTime, promoteTime } = signingSecret!;
    expect(timestampDate(promoteTime!).getTime() - timestampDate(createTime!).getTime()).toBe(seconds * 1000);
  });

  test('makes the next secret current at once when the delay is zero', async () => {
    await operator().rotateSigningSecret(sandbox());
    const { signingSecret } = await operator().rotateSigningSecret({ ...sandbox(), promoteAfter: {} });
    expect(await listedSecrets()).toEqual([signingSecret]);
    expect(signingSecret?.state).toBe(SigningSecretState.CURRENT);
  });
});

describe('the RPCs of signing secrets', () => {
  test('an unknown merchant gets no secret', async () => {
    const nobody = newRandomId('mer', new Date());
    expect(
      await failureOf(
        operator().rotateSigningSecret({ merchantId: nobody, environment: Environment.SANDBOX }),
      ),
    ).toMatchObject({ code: 'NotFound', reason: 'MERCHANT_NOT_FOUND' });
    expect((await operator().listSigningSecrets({ merchantId: nobody })).signingSecrets).toEqual([]);
  });

  test('a missing next secret cannot be promoted', async () => {
    await operator().rotateSigningSecret(sandbox());
    expect(await failureOf(operator().promoteSigningSecret(sandbox()))).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'NO_NEXT_SECRET',
    });
  });

  test.each([
    [{ seconds: -1n }, 'must be 0s to 2592000s'],
    [{ seconds: 2_592_001n }, 'must be 0s to 2592000s'],
  ])('all invalid fields are named together, with %o', async (promoteAfter, issue) => {
    const failure = await failureOf(operator().rotateSigningSecret({ merchantId: 'x', promoteAfter }));
    expect(failure).toEqual({
      code: 'InvalidArgument',
      reason: 'INVALID_FIELDS',
      issues: {
        merchant_id: 'must be an id of the form mer_… with 26 characters after the underscore',
        environment: 'must be SANDBOX or PRODUCTION',
        promote_after: issue,
      },
    });
  });

  test('a core that does not answer is named, and no secret is created', async () => {
    const lonely = await openWebhookDesk(stack, { coreAddresses: ['127.0.0.1:1'] });
    try {
      expect(await failureOf(lonely.client('operator').rotateSigningSecret(sandbox()))).toMatchObject({
        code: 'Unavailable',
        reason: 'CORE_UNAVAILABLE',
      });
    } finally {
      await lonely.close();
    }
    expect(await listedSecrets()).toEqual([]);
  });
});

// The rights of each role, written by hand, so that a change of rights must be made in two places.
const methods = { ...WebhookService.method, ...WebhookEndpointService.method };
type MethodName = keyof typeof methods;
const open: Readonly<Record<MethodName, readonly Role[]>> = {
  listSigningSecrets: ['dashboard', 'operator', 'reader'],
  rotateSigningSecret: ['dashboard', 'operator'],
  promoteSigningSecret: ['dashboard', 'operator'],
  listDeliveries: ['dashboard', 'operator', 'reader'],
  getDelivery: ['dashboard', 'operator', 'reader'],
  getOrderDeliveries: ['dashboard', 'operator', 'reader'],
  explainOrderDeliveries: ['facade', 'dashboard', 'operator', 'reader'],
  explainDelivery: ['dashboard', 'operator', 'reader'],
  redeliverDelivery: ['dashboard', 'operator'],
  startRedelivery: ['dashboard', 'operator'],
  getRedelivery: ['dashboard', 'operator', 'reader'],
  sendTestEvent: ['dashboard', 'operator'],
  listEndpoints: ['dashboard', 'operator', 'reader'],
  pauseEndpoint: ['dashboard', 'operator'],
  resumeEndpoint: ['dashboard', 'operator'],
  listenToSandboxEvents: ['operator'],
  getPipelineStatus: ['dashboard', 'operator', 'reader'],
  createWebhookEndpoint: ['dashboard', 'operator'],
  listWebhookEndpoints: ['dashboard', 'operator', 'reader'],
  getWebhookEndpoint: ['dashboard', 'operator', 'reader'],
  updateWebhookEndpoint: ['dashboard', 'operator'],
  pauseWebhookEndpoint: ['dashboard', 'operator'],
  resumeWebhookEndpoint: ['dashboard', 'operator'],
  deleteWebhookEndpoint: ['dashboard', 'operator'],
  rotateWebhookEndpointSecret: ['dashboard', 'operator'],
  promoteWebhookEndpointSecret: ['dashboard', 'operator'],
  testWebhookEndpoint: ['dashboard', 'operator'],
};

/** Calls with an empty request. A caller with access gets the missing fields or an answer. */
async function verdict(transport: Transport, name: MethodName): Promise<string> {
  const method: DescMethodUnary | DescMethodStreaming = methods[name];
  try {
    if (method.methodKind === 'unary') await transport.unary(method, undefined, 10_000, undefined, {});
    else {
      const { message } = await transport.stream(method, undefined, 10_000, undefined, once({}));
      await message[Symbol.asyncIterator]().next();
    }
    return 'allowed';
  } catch (error) {
    const { code, reason } = describeFailure(error as ConnectError);
    return code === 'PermissionDenied' || code === 'Unauthenticated' ? String(reason) : 'allowed';
  }
}

async function* once<T>(message: T): AsyncIterable<T> {
  yield message;
}

test.each(Object.keys(open) as MethodName[])(
  '%s allows its roles, and denies other roles and calls without a known token',
  async (method) => {
    const said = roles.map(async (role) => [role, await verdict(desk.transportOf(role), method)] as const);
    expect(Object.fromEntries(await Promise.all(said))).toEqual(
      Object.fromEntries(
        roles.map((role) => [role, open[method].includes(role) ? 'allowed' : 'ROLE_NOT_ALLOWED']),
      ),
    );
    const stranger = createGrpcTransport({ addresses: [desk.grpcAddress], token: 'f'.repeat(32) });
    expect(await verdict(stranger, method)).toBe('INVALID_SERVICE_TOKEN');
    stranger.close();
  },
);
