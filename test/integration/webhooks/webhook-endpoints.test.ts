import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { WebhookEndpoint } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import {
  DeliveryCause,
  DeliveryNextStep,
  DeliveryState,
  EndpointState,
  SigningSecretState,
} from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { createLogger } from '../../../src/platform/logger.ts';
import { leaseLanes } from '../../../src/webhooks/delivery/lease-lanes.sql.ts';
import { writeLanes } from '../../../src/webhooks/delivery/write-lanes.ts';
import { abandonDeleted } from '../../../src/webhooks/endpoints/abandon-deleted.ts';
import { failureOf, refusalOf } from '../../support/rpc-failure.ts';
import { buildReport } from './outgoing.ts';
import { sharedWebhookDesk } from './webhook-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Statement } from '../../support/sql.ts';
import { sql } from '../../support/sql.ts';

// The RPCs of webhook endpoints over PostgreSQL. Nothing is sent here.

const stack = sharedStack({ facades: 0 });
const desk = sharedWebhookDesk(stack);
let merchantId: string;

beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

const operator = () => desk.endpointClient('operator');
const url = 'https://shop.example/hook';
const create = (
  own: { url?: string; environment?: Environment; eventTypes?: string[]; withoutSecret?: boolean } = {},
) => operator().createWebhookEndpoint({ merchantId, environment: Environment.SANDBOX, url, ...own });
const list = () => desk.endpointClient('reader').listWebhookEndpoints({ merchantId });
const keyOf = (endpoint: WebhookEndpoint | undefined) => ({
  merchantId,
  webhookEndpointId: endpoint?.webhookEndpointId ?? '',
});
const query = <Row extends object>(statement: Statement) =>
  desk.database.pool.query<Row>(statement).then(({ rows }) => rows);
const abandon = () =>
  abandonDeleted(
    {
      pool: desk.database.pool,
      logger: createLogger({ process: 'test', instance: 'webhooks', level: 'silent' }),
    },
    new AbortController().signal,
  );
/** Adds deliveries to a webhook endpoint. */
const deliver = (endpoint: WebhookEndpoint | undefined, count = 1) =>
  desk.deliver(merchantId, { endpoint: endpoint?.webhookEndpointId ?? '', url }, count);

describe('creating an endpoint', () => {
  test('shows the secret once, and the list shows the endpoint without it', async () => {
    const { webhookEndpoint, secret } = await create({ eventTypes: ['refund.failed', 'order.completed'] });

    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhookEndpoint).toMatchObject({
      webhookEndpointId: expect.stringMatching(/^whe_/),
      merchantId,
      environment: Environment.SANDBOX,
      url,
      eventTypes: ['order.completed', 'refund.failed'],
      awaitsSecret: false,
      status: { state: EndpointState.OPEN, pendingCount: 0n, endpoint: 'https://shop.example' },
      signingSecrets: [{ shown: true, state: SigningSecretState.CURRENT, ending: secret.slice(-4) }],
    });
    const { webhookEndpoints, awaitedSecrets } = await list();
    expect(webhookEndpoints).toEqual([webhookEndpoint]);
    expect(awaitedSecrets).toEqual([]);
    expect(JSON.stringify(webhookEndpoints, (_key, value: unknown) => String(value))).not.toContain(secret);
    // The merchant's own secret, for webhook_urls of orders, is another one.
    expect((await desk.client('reader').listSigningSecrets({ merchantId })).signingSecrets).toEqual([]);
  });

  test('names every invalid field', async () => {
    const failure = await failureOf(
      operator().createWebhookEndpoint({
        merchantId: 'mer_1',
        environment: Environment.PRODUCTION,
        url: 'http://shop.example',
        description: 'a\nb',
        eventTypes: ['order.created'],
      }),
    );
    expect(failure).toMatchObject({
      reason: 'INVALID_FIELDS',
      issues: {
        merchant_id: expect.any(String),
        url: 'must start with https:// in production',
        description: expect.any(String),
        event_types: expect.stringContaining('order.completed, order.failed'),
      },
    });
    const unknown = { merchantId: newRandomId('mer', new Date()), environment: Environment.SANDBOX, url };
    expect(await failureOf(operator().createWebhookEndpoint(unknown))).toMatchObject({
      reason: 'MERCHANT_NOT_FOUND',
    });
  });

  test('accepts a URL once in an environment, and ten endpoints at most, however many are created at once', async () => {
    const first = await create();
    expect(await failureOf(create())).toMatchObject({ reason: 'WEBHOOK_ENDPOINT_EXISTS' });
    await create({ environment: Environment.PRODUCTION });

    const others = await Promise.allSettled(
      Array.from({ length: 14 }, (_, index) => create({ url: `${url}/${index}` })),
    );

    expect(others.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
    expect(await failureOf(create({ url: `${url}/more` }))).toMatchObject({
      reason: 'TOO_MANY_WEBHOOK_ENDPOINTS',
    });
    await operator().deleteWebhookEndpoint(keyOf(first.webhookEndpoint));
    await create();

    // The list shows each of them as it is, with four statements. The watch of the pool adds one each second.
    let statements = 0;
    const count = () => (statements += 1);
    desk.database.pool.on('acquire', count);
    const { webhookEndpoints } = await list();
    desk.database.pool.off('acquire', count);
    expect(webhookEndpoints).toHaveLength(11);
    expect(statements).toBeLessThan(11);
    for (const shown of webhookEndpoints)
      expect((await operator().getWebhookEndpoint(keyOf(shown))).webhookEndpoint).toEqual(shown);
  });
});

describe('changing an endpoint', () => {
  test('keeps values that are not given, and gives pending deliveries the new URL', async () => {
    const { webhookEndpoint } = await create({ eventTypes: ['order.failed'] });
    const key = keyOf(webhookEndpoint);
    const [deliveryId = ''] = await deliver(webhookEndpoint);
    const newUrl = 'https://new.example/hook';

    const renamed = await operator().updateWebhookEndpoint({ ...key, description: 'Books' });
    const moved = await operator().updateWebhookEndpoint({ ...key, url: newUrl, types: {} });

    expect(renamed.webhookEndpoint).toMatchObject({
      url,
      description: 'Books',
      eventTypes: ['order.failed'],
    });
    expect(moved.webhookEndpoint).toMatchObject({ url: newUrl, description: 'Books', eventTypes: [] });
    const { delivery } = await desk.client('reader').getDelivery({ merchantId, deliveryId });
    expect(delivery).toMatchObject({
      url: newUrl,
      endpoint: 'https://new.example',
      webhookEndpointId: key.webhookEndpointId,
    });
    const other = await create();
    expect(
      await failureOf(operator().updateWebhookEndpoint({ ...keyOf(other.webhookEndpoint), url: newUrl })),
    ).toMatchObject({ reason: 'WEBHOOK_ENDPOINT_EXISTS' });
    expect(await failureOf(operator().updateWebhookEndpoint({ ...key, url: 'ftp://a' }))).toMatchObject({
      issues: { url: expect.any(String) },
    });
  });

  test('stops and starts this endpoint, and no other on its host', async () => {
    const { webhookEndpoint } = await create();
    const other = await create({ url: `${url}/other` });
    const key = keyOf(webhookEndpoint);

    const paused = await operator().pauseWebhookEndpoint({ ...key, reason: 'We move our server' });

    expect(paused.webhookEndpoint?.status).toMatchObject({
      state: EndpointState.PAUSED,
      pauseReason: 'We move our server',
    });
    const states = (await list()).webhookEndpoints.map(({ status }) => status?.state);
    expect(states).toEqual([EndpointState.PAUSED, EndpointState.OPEN]);
    const inTrouble = await desk
      .client('reader')
      .listEndpoints({ merchantId, onlyInTrouble: true, includeWebhookEndpoints: true });
    expect(inTrouble.endpoints).toMatchObject([
      { endpoint: 'https://shop.example', webhookEndpointId: key.webhookEndpointId },
    ]);
    // Programs that do not know webhook endpoints get hosts only.
    expect((await desk.client('reader').listEndpoints({ merchantId })).endpoints).toEqual([]);
    const rings = desk.rings.due;
    const resumed = await operator().resumeWebhookEndpoint(key);
    expect(resumed.webhookEndpoint?.status?.state).toBe(EndpointState.OPEN);
    expect(desk.rings.due).toBe(rings + 1);
    expect(other.webhookEndpoint?.status?.state).toBe(EndpointState.OPEN);
  });

  test('rotates and promotes a secret of this endpoint only', async () => {
    const { webhookEndpoint } = await create();
    const other = await create({ url: `${url}/other` });
    const key = keyOf(webhookEndpoint);

    const { signingSecret, secret } = await operator().rotateWebhookEndpointSecret(key);

    expect(signingSecret).toMatchObject({
      state: SigningSecretState.NEXT,
      webhookEndpointId: key.webhookEndpointId,
      ending: secret.slice(-4),
    });
    const promoted = await operator().promoteWebhookEndpointSecret(key);
    expect(promoted.signingSecret).toMatchObject({
      state: SigningSecretState.CURRENT,
      ending: secret.slice(-4),
    });
    expect(await failureOf(operator().promoteWebhookEndpointSecret(key))).toMatchObject({
      reason: 'NO_NEXT_SECRET',
    });
    const { webhookEndpoints } = await list();
    expect(webhookEndpoints.map(({ signingSecrets }) => signingSecrets.length)).toEqual([1, 1]);
    expect(webhookEndpoints[1]?.signingSecrets).toEqual(other.webhookEndpoint?.signingSecrets);
  });

  test('is in the audit log with the person, without secrets and paths of URLs', async () => {
    const { webhookEndpoint, secret } = await create();
    const key = keyOf(webhookEndpoint);
    await operator().updateWebhookEndpoint({ ...key, types: { eventTypes: ['order.failed'] } });
    await operator().pauseWebhookEndpoint(key);
    await operator().resumeWebhookEndpoint(key);
    await operator().testWebhookEndpoint(key);
    await operator().rotateWebhookEndpointSecret(key);
    await operator().deleteWebhookEndpoint(key);

    const entries = await query<{ action: string; details: object }>(sql`
      select action, details from webhooks.audit_outbox where merchant_id = ${merchantId} order by id`);

    expect(entries.map(({ action }) => action).sort()).toEqual(
      [
        'signing_secret.rotate',
        'signing_secret.rotate',
        'test_event.send',
        ...['create', 'delete', 'pause', 'resume', 'update'].map((action) => `webhook_endpoint.${action}`),
      ].sort(),
    );
    const text = JSON.stringify(entries);
    for (const hidden of [secret, '/hook']) expect(text).not.toContain(hidden);
  });
});

describe('deleting an endpoint', () => {
  test('abandons pending deliveries in batches, keeps them visible, and sends nothing more', async () => {
    const { webhookEndpoint } = await create();
    const kept = await create({ url: `${url}/kept` });
    const key = keyOf(webhookEndpoint);
    const [deliveryId = ''] = await deliver(webhookEndpoint, 1_203);
    await deliver(kept.webhookEndpoint);

    await operator().deleteWebhookEndpoint(key);
    // Nothing is sent until the pending deliveries are abandoned.
    expect(
      await query(sql`select paused_at is not null as "isPaused" from webhooks.lanes
        where merchant_id = ${merchantId} and endpoint = ${key.webhookEndpointId}`),
    ).toEqual([{ isPaused: true }]);
    // The intake had read the endpoint before, and writes only now.
    await deliver(webhookEndpoint);
    await Promise.all([abandon(), abandon()]);
    await abandon();

    const counts = await query<{ endpoint: string; state: string; count: string }>(sql`
      select endpoint, state, count(*) from webhooks.deliveries
      where merchant_id = ${merchantId} group by 1, 2 order by 3 desc`);
    expect(counts).toEqual([
      { endpoint: key.webhookEndpointId, state: 'GIVEN_UP', count: '1203' },
      { endpoint: kept.webhookEndpoint?.webhookEndpointId, state: 'PENDING', count: '1' },
    ]);
    const { explanation, delivery } = await desk.client('reader').explainDelivery({ merchantId, deliveryId });
    expect(delivery).toMatchObject({
      state: DeliveryState.GIVEN_UP,
      lastResult: 'abandoned: its webhook endpoint was deleted',
    });
    expect(explanation).toMatchObject({
      cause: DeliveryCause.WEBHOOK_ENDPOINT_DELETED,
      nextSteps: [DeliveryNextStep.NONE],
    });
    expect(
      await failureOf(desk.client('operator').redeliverDelivery({ merchantId, deliveryId })),
    ).toMatchObject({
      reason: 'WEBHOOK_ENDPOINT_DELETED',
    });
    expect((await list()).webhookEndpoints).toHaveLength(1);
    const calls = [
      operator().getWebhookEndpoint(key),
      operator().resumeWebhookEndpoint(key),
      operator().deleteWebhookEndpoint(key),
      operator().rotateWebhookEndpointSecret(key),
      operator().testWebhookEndpoint(key),
    ];
    expect(await Promise.all(calls.map(refusalOf))).toEqual(calls.map(() => 'WEBHOOK_ENDPOINT_NOT_FOUND'));
    const secrets = await query(sql`
      select from webhooks.signing_secrets where endpoint_id = ${key.webhookEndpointId}`);
    expect(secrets).toHaveLength(0);
  });

  test('leaves no secret of a rotation that runs at the same time', async () => {
    const { webhookEndpoint } = await create();
    const key = keyOf(webhookEndpoint);
    const deletion = await desk.database.pool.connect();
    await deletion.query('begin');
    await deletion.query(sql`
      update webhooks.webhook_endpoints set deleted_at = now() where id = ${key.webhookEndpointId}`);
    let isOver = false;
    const rotation = refusalOf(operator().rotateWebhookEndpointSecret(key)).finally(() => (isOver = true));
    await waitUntil('the rotation waits for the deletion, or has ended', async () => {
      const waiting = await query(sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
      return isOver || waiting.length > 0;
    });
    await deletion.query('commit');
    deletion.release();

    expect(await rotation).toBe('WEBHOOK_ENDPOINT_NOT_FOUND');
  });

  test('keeps the result of an attempt under way, and leaves no pause if that is 410', async () => {
    const { webhookEndpoint } = await create();
    const key = keyOf(webhookEndpoint);
    await deliver(webhookEndpoint);
    const leaseId = randomUUID();
    const leased = await leaseLanes(desk.database.pool, {
      lanes: 100,
      unhealthyLanes: 100,
      exceptOwners: [],
      leaseId,
      leaseMs: 20_000,
    });
    const own = leased.lanes.find(({ lane }) => lane.endpoint === key.webhookEndpointId);
    const [delivery] = own?.heads ?? [];
    if (own === undefined || delivery === undefined) throw new Error('the lane was not leased');
    await operator().deleteWebhookEndpoint(key);
    await abandon();
    const at = new Date();
    const report = buildReport({ result: 'GONE', statusCode: 410, detail: 'answered 410 Gone' });
    const attempt = { delivery, report, endedAt: at, next: { type: 'pause', at } as const };
    const release = { delayMs: 0, awaitsSecret: false };

    const [result] = await writeLanes(desk.database.pool, [{ lane: own.lane, leaseId, attempt, release }], {
      leaseMs: 20_000,
      random: Math.random,
    });
    await abandon();

    expect(result).toMatchObject({ isHeld: true });
    expect(
      await query(sql`
        select l.paused_at, l.paused_by_answer, l.lease_id, e.emptied_at is not null as is_emptied
        from webhooks.lanes l join webhooks.webhook_endpoints e on e.merchant_id = l.merchant_id and e.id = l.endpoint
        where l.merchant_id = ${merchantId}`),
    ).toEqual([{ paused_at: null, paused_by_answer: false, lease_id: null, is_emptied: true }]);
  });
});
