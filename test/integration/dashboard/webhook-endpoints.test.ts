import { beforeAll, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { EndpointState } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import type { WebhookEndpoint } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { hiddenField } from '../../support/dashboard-visitor.ts';
import { subscribedTypes } from '../../../src/webhooks/domain/webhook-endpoint.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startReceiver } from '../webhooks/receivers.ts';
import { openDashboardDesk } from './dashboard-desk.ts';
import type { DashboardDesk } from './dashboard-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

let desk: DashboardDesk;

const stack = sharedStack({ facades: 0, dashboards: 1, webhooks: 1 });
beforeAll(async () => {
  desk = openDashboardDesk(stack);
});

async function atNewMerchant() {
  const { id: merchantId } = await stack.createMerchant();
  const visitor = await desk.signedIn(await desk.users.member(merchantId, MemberRole.DEVELOPER));
  const at = (path: string) => `/m/${merchantId}/sandbox/${path}`;
  const endpoints = async (): Promise<readonly WebhookEndpoint[]> =>
    (await stack.webhookEndpointClient('operator').listWebhookEndpoints({ merchantId })).webhookEndpoints;
  return { merchantId, visitor, at, endpoints };
}

const secretIn = (body: string): string => /<code id="secret">([^<]*)<\/code>/.exec(body)?.[1] ?? '';
const url = 'http://127.0.0.1:9/hook?key=1';

test('an endpoint is created with its secret shown once, and its page changes, pauses, tests and deletes it', async () => {
  const receiver = await startReceiver();
  const { visitor, at, endpoints } = await atNewMerchant();
  const empty = await visitor.get(at('webhooks/endpoints'));

  const created = await visitor.post(at('webhooks/endpoints'), {
    url: `${receiver.origin}/hook`,
    type: 'order.completed',
    description: 'Books <b>',
  });
  const [endpoint] = await endpoints();
  const page = at(`webhooks/endpoints/${endpoint?.webhookEndpointId}`);
  const seen = async () => hiddenField(await visitor.get(page), 'seen') ?? '';
  const first = await seen();
  const paused = await visitor.post(`${page}/pause`, { seen: first, reason: 'moving' });
  const late = await visitor.post(`${page}/resume`, { seen: first });
  const whilePaused = await visitor.get(page);
  const resumed = await visitor.post(`${page}/resume`, { seen: await seen() });
  const changed = await visitor.post(page, {
    seen: await seen(),
    url: `${receiver.origin}/new`,
    description: '',
  });
  const tested = await visitor.post(`${page}/test`);
  await waitUntil('the test came', () => receiver.webhooks.length === 1);
  const history = await visitor.get(at(`webhooks?webhook_endpoint=${endpoint?.webhookEndpointId}`));
  const list = await visitor.get(at('webhooks/endpoints'));
  const deleted = await visitor.post(`${page}/delete`, { seen: await seen() });
  await receiver.close();

  expect([...empty.body.matchAll(/name="type" value="([^"]+)"/g)].map(([, type]) => type)).toEqual(
    subscribedTypes,
  );
  expect(secretIn(created.body)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(endpoint).toMatchObject({ eventTypes: ['order.completed'], awaitsSecret: false });
  expect([paused.status, late.status, resumed.status, changed.status]).toEqual([303, 409, 303, 303]);
  expect(whilePaused.body).toContain('moving');
  expect(whilePaused.body).toContain('Books &lt;b&gt;');
  expect(String(tested.headers.get('location'))).toContain('/webhooks/deliveries/whd_');
  expect(receiver.webhooks[0]?.target).toBe('/new');
  expect(history.body).toContain('webhook.test');
  expect(list.body).toContain(`${receiver.origin}/new`);
  expect(list.body).toContain('Every type');
  for (const { body } of [list, whilePaused]) expect(body).not.toContain(secretIn(created.body));
  expect(deleted.headers.get('location')).toBe(at('webhooks/endpoints'));
  expect(await endpoints()).toEqual([]);
  expect((await visitor.get(page)).status).toBe(404);
});

test('what is refused is said at the field, and the input is kept', async () => {
  const { visitor, at } = await atNewMerchant();
  await visitor.post(at('webhooks/endpoints'), { url });

  const answers = [
    await visitor.post(at('webhooks/endpoints'), { url }),
    await visitor.post(at('webhooks/endpoints'), { url: 'ftp://shop.example', type: 'refund.failed' }),
  ];

  expect(answers.map(({ status }) => status)).toEqual([400, 400]);
  expect(answers[0]?.body).toContain('Another webhook endpoint has this URL.');
  expect(answers[1]?.body).toContain('This URL cannot receive webhooks of this environment.');
  expect(answers[1]?.body).toContain('value="ftp://shop.example"');
  expect(answers[1]?.body).toMatch(/value="refund\.failed" checked/);
});

test('a merchant is told of webhooks that wait, until the secret is created', async () => {
  const { merchantId, visitor, at, endpoints } = await atNewMerchant();
  const client = stack.webhookEndpointClient('operator');
  const { webhookEndpoint } = await client.createWebhookEndpoint({
    ...{ merchantId, environment: Environment.SANDBOX, url, withoutSecret: true },
  });
  const { webhookEndpointId = '' } = webhookEndpoint ?? {};
  await client.testWebhookEndpoint({ merchantId, webhookEndpointId });
  await stack.webhookClient('operator').sendTestEvent({
    ...{ merchantId, environment: Environment.SANDBOX, url: 'http://127.0.0.1:9/' },
  });
  await waitUntil('both wait', async () => {
    const { awaitedSecrets } = await client.listWebhookEndpoints({ merchantId });
    return awaitedSecrets.length === 2;
  });
  const page = at(`webhooks/endpoints/${webhookEndpointId}`);

  const [home, webhooks, own] = [
    await visitor.get(`/m/${merchantId}/sandbox`),
    await visitor.get(at('webhooks')),
    await visitor.get(page),
  ];
  const rotated = await visitor.post(`${page}/rotate-secret`, { seen: hiddenField(own, 'seen') ?? '' });
  const ofOrders = await visitor.post(at('webhooks/secrets/rotate'), { seen: '', after: 'now' });

  for (const { body } of [home, webhooks]) {
    expect(body).toContain('1 delivery waits for a webhook endpoint, until you create its signing secret.');
    expect(body).toContain(
      '1 delivery waits for the webhook_url of orders, until you create a signing secret.',
    );
    expect(body).toContain(`href="${page}"`);
  }
  expect(own.body).toContain('No secret was shown yet, so its deliveries wait.');
  for (const { body } of [rotated, ofOrders]) expect(secretIn(body)).toMatch(/^whsec_/);
  expect((await endpoints())[0]).toMatchObject({
    awaitsSecret: false,
    status: { state: EndpointState.OPEN },
  });
  await waitUntil('the alert is gone', async () => {
    const { body } = await visitor.get(at('webhooks'));
    return !body.includes('Webhooks wait for a signing secret');
  });
});

test('an endpoint of another merchant or environment is not found', async () => {
  const [own, other] = [await atNewMerchant(), await atNewMerchant()];
  await own.visitor.post(own.at('webhooks/endpoints'), { url });
  const [endpoint] = await own.endpoints();
  const path = `webhooks/endpoints/${endpoint?.webhookEndpointId}`;

  const answers = [
    await other.visitor.get(other.at(path)),
    await other.visitor.post(other.at(`${path}/delete`), { seen: '' }),
    await own.visitor.get(own.at(path).replace('sandbox', 'production')),
    await own.visitor.post(own.at(`${path}/rotate-secret`).replace('sandbox', 'production'), { seen: '' }),
  ];

  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  expect(await own.endpoints()).toHaveLength(1);
});
