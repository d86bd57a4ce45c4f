import { describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { ApiKeyScope, ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { DeliveryState, EndpointState } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { headingOf } from '../../support/customer.ts';
import { hiddenField } from '../../support/dashboard-visitor.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';
import { sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import type { WebhookEndpoint } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { subscribedTypes } from '../../../src/webhooks/domain/webhook-endpoint.ts';
import { startReceiver } from '../webhooks/receivers.ts';

const stack = sharedStack({ facades: 0, dashboards: 1, webhooks: 1 });

const desk = sharedDashboardDesk(stack);
const superuser = sharedConnection(() => stack.databaseUrl);

const secretIn = (body: string): string => /<code id="secret">([^<]*)<\/code>/.exec(body)?.[1] ?? '';

describe('keys', () => {
  const opens = async (apiKey: string): Promise<string> =>
    stack
      .client(ApiKeyService, 'facade')
      .authenticateApiKey({ apiKey, environment: Environment.SANDBOX })
      .then(
        () => 'opens',
        () => 'refused',
      );
  const idOf = async (merchantId: string, label: string): Promise<string> => {
    const { apiKeys } = await stack.client(ApiKeyService, 'operator').listApiKeys({ merchantId });
    return apiKeys.find((key) => key.label === label)?.apiKeyId ?? '';
  };

  test('a created key is accepted in its environment, and is shown once', async () => {
    const { visitor, at } = await desk.atNewMerchant();

    const made = await visitor.post(at('keys'), { label: 'Web shop' });
    const key = secretIn(made.body);
    const listed = await visitor.get(at('keys'));
    const elsewhere = await visitor.get(at('keys').replace('sandbox', 'production'));

    expect(await opens(key)).toBe('opens');
    expect(made.headers.get('cache-control')).toBe('no-store');
    expect(listed.body).toContain('Web shop');
    expect(listed.body).not.toContain(key);
    expect(elsewhere.body).not.toContain('Web shop');
  });

  test('a replaced key stays valid for the chosen time, and a revoked key does not', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    const old = secretIn((await visitor.post(at('keys'), { label: 'till' })).body);
    const id = await idOf(merchant.id, 'till');

    const replaced = await visitor.post(at(`keys/${id}/rotate`), { overlap: 'hour' });
    expect([await opens(old), await opens(secretIn(replaced.body))]).toEqual(['opens', 'opens']);

    const revoked = await visitor.post(at(`keys/${id}/revoke`));
    expect([revoked.status, await opens(old)]).toEqual([303, 'refused']);
    expect((await visitor.get(at('keys'))).body).toContain('till is revoked.');
    expect((await visitor.get(at('keys'))).body).not.toContain('till is revoked.');
  });

  test('a key is not replaced beyond the limit of valid keys, and the page says what to do', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    await visitor.post(at('keys'), { label: 'till' });
    const names = { merchantId: merchant.id, apiKeyId: await idOf(merchant.id, 'till') };
    const apiKeys = stack.client(ApiKeyService, 'operator');
    for (let usable = 2; usable < 40; usable += 1) await apiKeys.rotateApiKey(names);

    const refused = await visitor.post(at(`keys/${names.apiKeyId}/rotate`), { overlap: 'day' });

    expect([refused.status, refused.headers.get('location')]).toEqual([303, at('keys')]);
    expect((await visitor.get(at('keys'))).body).toContain('You already have 40 valid keys');
  });

  test('a key may refund only with the scope, given at its creation or later', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    const scopesOf = async (label: string) => {
      const { apiKeys } = await stack
        .client(ApiKeyService, 'operator')
        .listApiKeys({ merchantId: merchant.id });
      return apiKeys.find((key) => key.label === label)?.scopes;
    };
    await visitor.post(at('keys'), { label: 'plain' });
    await visitor.post(at('keys'), { label: 'office', refunds: 'yes' });
    expect([await scopesOf('plain'), await scopesOf('office')]).toEqual([[], [ApiKeyScope.REFUNDS]]);

    await visitor.post(at(`keys/${await idOf(merchant.id, 'plain')}/refunds`), { refunds: 'yes' });
    expect((await visitor.get(at('keys'))).body).toContain('plain may now refund orders.');
    await visitor.post(at(`keys/${await idOf(merchant.id, 'office')}/refunds`), { refunds: 'no' });
    const bad = await visitor.post(at(`keys/${await idOf(merchant.id, 'office')}/refunds`), {
      refunds: 'all',
    });

    expect(bad.status).toBe(400);
    expect([await scopesOf('plain'), await scopesOf('office')]).toEqual([[ApiKeyScope.REFUNDS], []]);
  });

  test('of two people who replace the same key, the second sees a notice', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    await visitor.post(at('keys'), { label: 'shared' });
    const id = await idOf(merchant.id, 'shared');
    await visitor.post(at(`keys/${id}/revoke`));

    const second = await visitor.post(at(`keys/${id}/rotate`), { overlap: 'day' });

    expect([second.status, headingOf(second)]).toEqual([409, 'Somebody else changed this first']);
  });

  test('the label of a key is shown as text, whatever it contains', async () => {
    const { visitor, at } = await desk.atNewMerchant();
    const label = `<script>alert(1)</script>"'&<img src=x>`;

    await visitor.post(at('keys'), { label });
    const { body } = await visitor.get(at('keys'));

    expect(body).not.toContain('<script>alert');
    expect(body).not.toContain('<img');
    expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  test('a label that is too long is reported at its field, and kept for correction', async () => {
    const { visitor, at } = await desk.atNewMerchant();

    const { status, body } = await visitor.post(at('keys'), { label: 'x'.repeat(65) });

    expect(status).toBe(400);
    expect(body).toContain('<title>Error: API keys · ');
    expect(body).toContain('Enter at most 64 characters.');
    expect(body).toContain('x'.repeat(65));
  });

  test.each<readonly [string, Readonly<Record<string, string>>, string]>([
    ['keys', { label: 'once' }, 'keys'],
    ['keys/:key/rotate', { overlap: 'hour' }, 'keys'],
    ['webhooks/secrets/rotate', { seen: '', after: 'now' }, 'webhooks/secrets'],
    ['webhooks/endpoints', { url: 'http://127.0.0.1:9/hook' }, 'webhooks/endpoints'],
    ['webhooks/test', { url: 'http://127.0.0.1:9/hook' }, 'webhooks'],
  ])('of a form to %s that is sent eight times at once, one has its effect', async (path, fields, page) => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    await visitor.post(at('keys'), { label: 'first' });
    const to = at(path.replace(':key', await idOf(merchant.id, 'first')));
    const form = { ...fields, form_id: hiddenField(await visitor.get(at('keys')), 'form_id') ?? '' };

    const answers = await Promise.all(Array.from({ length: 8 }, () => visitor.post(to, form)));

    expect(answers.filter(({ status }) => status < 400)).toHaveLength(1);
    const refused = answers.filter((answer) => headingOf(answer) === 'This form was already sent');
    const link = `<a class="button" href="${at(page)}">Open the page again</a>`;
    expect(refused.filter(({ body }) => body.includes(link))).toHaveLength(7);
  });
});

describe('webhooks', () => {
  test('a test is sent, and its page shows the result', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    await visitor.post(at('webhooks/secrets/rotate'), { seen: '', after: 'now' });

    const sent = await visitor.post(at('webhooks/test'), { url: 'http://127.0.0.1:9/hook?a=1&b=2' });
    const page = String(sent.headers.get('location'));
    await waitUntil('the test is tried', async () => {
      const { deliveries } = await stack
        .webhookClient('operator')
        .listDeliveries({ merchantId: merchant.id });
      return deliveries[0]?.attemptCount ? true : undefined;
    });
    const { body } = await visitor.get(page);

    expect(page).toMatch(new RegExp(`^${at('webhooks/deliveries/whd_')}`));
    expect(body).toContain('http://127.0.0.1:9/hook?a=1&amp;b=2');
    expect(body).toContain('webhook.test');
    expect(body).toContain('Connection failed');
    expect(body).not.toContain('gatehouse webhook');
  });

  test('deliveries are found by state, order number and endpoint', async () => {
    const { visitor, at } = await desk.atNewMerchant();
    await visitor.post(at('webhooks/test'), { url: 'http://127.0.0.1:9/one' });

    const shown = async (query: string) =>
      (await visitor.get(at(`webhooks?${query}`))).body.includes('/deliveries/whd_');

    expect(await shown('endpoint=http%3A%2F%2F127.0.0.1%3A9%2Fone')).toBe(true);
    expect(await shown('endpoint=http%3A%2F%2F127.0.0.1%3A10')).toBe(false);
    expect(await shown('order_number=webhook-test-no')).toBe(false);
    expect(await shown('state=delivered')).toBe(false);
    expect(await shown('state=nonsense&page=')).toBe(true);
  });

  test.each(['endpoint=127.0.0.1', 'endpoint=ftp%3A%2F%2F127.0.0.1', `order_number=${'9'.repeat(65)}`])(
    'a search that no delivery can match finds nothing: %s',
    async (query) => {
      const { visitor, at } = await desk.atNewMerchant();

      const { status, body } = await visitor.get(at(`webhooks?${query}`));

      expect([status, body.includes('No deliveries match.')]).toEqual([200, true]);
    },
  );

  test('an endpoint is paused and resumed, and the second of two people sees a notice', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    await visitor.post(at('webhooks/secrets/rotate'), { seen: '', after: 'now' });
    await visitor.post(at('webhooks/test'), { url: 'http://127.0.0.1:9/' });
    const endpoint = 'http://127.0.0.1:9';
    await waitUntil('the test is tried', async () => {
      const { endpoints } = await stack.webhookClient('operator').listEndpoints({ merchantId: merchant.id });
      return endpoints[0]?.lastResult;
    });

    const paused = await visitor.post(at('webhooks/hosts/pause'), {
      endpoint,
      seen: 'open',
      reason: 'moving',
    });
    const again = await visitor.post(at('webhooks/hosts/pause'), { endpoint, seen: 'open' });
    const { body } = await visitor.get(at('webhooks'));
    const inAmharic = await visitor.get(`/m/${merchant.id}/sandbox?lang=am`);
    expect(inAmharic.body).toContain('<bdi>የመጨረሻ ውጤት፦ ከመቀበያው ጋር መገናኘት አልተቻለም');
    await visitor.get(`/m/${merchant.id}/sandbox?lang=en`);
    const resumed = await visitor.post(at('webhooks/hosts/resume'), { endpoint, seen: 'paused' });

    expect([paused.status, again.status, resumed.status]).toEqual([303, 409, 303]);
    expect(body).toContain('moving');
    const { endpoints } = await stack.webhookClient('operator').listEndpoints({ merchantId: merchant.id });
    expect(endpoints.map(({ pauseReason }) => pauseReason)).toEqual(['']);
  });

  test('an endpoint after the first hundred is on the next page, and is resumed', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    await superuser.query(
      `insert into webhooks.lanes (merchant_id, environment, endpoint, created_at, paused_at)
       select $1, 'SANDBOX', 'https://shop-' || n || '.example', now(), now() from generate_series(100, 200) n`,
      [merchant.id],
    );
    const last = 'https://shop-200.example';

    const first = await visitor.get(at('webhooks'));
    const next = /href="([^"]*\?hosts_page=[^"]*)"/.exec(first.body)?.[1] ?? '';
    const second = await visitor.get(next);
    const resumed = await visitor.post(at('webhooks/hosts/resume'), { endpoint: last, seen: 'paused' });

    expect([first, second].map(({ body }) => body.includes(`<bdi>${last}</bdi>`))).toEqual([false, true]);
    expect(second.body).not.toMatch(/button-quiet" href="[^"]*hosts_page=/);
    expect(resumed.status).toBe(303);
    expect((await visitor.get(at('webhooks'))).body).toContain(`${last} is resumed.`);
  });

  test('an abandoned delivery is sent again', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    const sent = await visitor.post(at('webhooks/test'), { url: 'http://127.0.0.1:9/' });

    const again = await visitor.post(`${String(sent.headers.get('location'))}/redeliver`);

    expect(again.headers.get('location')).toBe(sent.headers.get('location'));
    const { deliveries } = await stack.webhookClient('operator').listDeliveries({ merchantId: merchant.id });
    expect(deliveries.map(({ state }) => state)).toEqual([DeliveryState.PENDING]);
  });

  test('a URL that can receive nothing is reported at its field', async () => {
    const { visitor, at } = await desk.atNewMerchant();

    const { status, body } = await visitor.post(at('webhooks/test'), { url: 'ftp://shop.example' });

    expect(status).toBe(400);
    expect(body).toContain('This URL cannot be a webhook_url of this environment.');
    expect(body).toContain('ftp://shop.example');
  });
});

describe('signing secrets', () => {
  test('the first is current at once and the next one after its promotion, and each is shown once', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();
    const seen = async () => hiddenField(await visitor.get(at('webhooks/secrets')), 'seen') ?? '';

    const first = secretIn(
      (await visitor.post(at('webhooks/secrets/rotate'), { seen: '', after: 'now' })).body,
    );
    const next = secretIn(
      (await visitor.post(at('webhooks/secrets/rotate'), { seen: await seen(), after: 'week' })).body,
    );
    const listed = await visitor.get(at('webhooks/secrets'));
    const promoted = await visitor.post(at('webhooks/secrets/promote'), { seen: await seen() });

    expect([first, next]).toEqual([expect.stringMatching(/^whsec_/), expect.stringMatching(/^whsec_/)]);
    expect(listed.body).not.toContain(first);
    expect(listed.body).not.toContain(next);
    expect(promoted.status).toBe(303);
    const { signingSecrets } = await stack
      .webhookClient('operator')
      .listSigningSecrets({ merchantId: merchant.id, environment: Environment.SANDBOX });
    expect(signingSecrets.map(({ ending }) => next.endsWith(ending))).toEqual([true]);
  });

  test('when two people create one, the second sees a notice, and no secret is replaced unseen', async () => {
    const { visitor, at } = await desk.atNewMerchant();
    await visitor.post(at('webhooks/secrets/rotate'), { seen: '', after: 'now' });

    const second = await visitor.post(at('webhooks/secrets/rotate'), { seen: '', after: 'now' });

    expect([second.status, headingOf(second)]).toEqual([409, 'Somebody else changed this first']);
  });
});

test("the quick start in each language has the merchant's own key and the environment's address", async () => {
  const { merchant, visitor, at } = await desk.atNewMerchant();

  for (const [code, ...parts] of [
    ['curl', '/api/v1/register', '#'],
    ['typescript', 'await fetch', 'verifyWebhook'],
    ['python', 'urllib.request', 'def verify_webhook'],
    ['php', 'file_get_contents', 'function verify_webhook'],
  ]) {
    const { body } = await visitor.get(at(`quick-start?code=${code}`));

    for (const part of parts) expect(body).toContain(part);
    expect(body).toContain(`export API_KEY=${merchant.testKey.slice(0, 12)}`);
    expect(body).toContain('http://127.0.0.1:8081');
    expect(body).not.toContain(merchant.testKey);
  }
});

describe('webhook endpoints', () => {
  async function atDeveloper() {
    const { merchant, ...site } = await desk.atNewMerchant(MemberRole.DEVELOPER);
    const { id: merchantId } = merchant;
    const endpoints = async (): Promise<readonly WebhookEndpoint[]> =>
      (await stack.webhookEndpointClient('operator').listWebhookEndpoints({ merchantId })).webhookEndpoints;
    return { ...site, merchantId, endpoints };
  }

  const url = 'http://127.0.0.1:9/hook?key=1';

  test('an endpoint is created with its secret shown once, and its page changes, pauses, tests and deletes it', async () => {
    const receiver = await startReceiver();
    const { visitor, at, endpoints } = await atDeveloper();
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

  test('a refused value is reported at its field, and the input is kept', async () => {
    const { visitor, at } = await atDeveloper();
    await visitor.post(at('webhooks/endpoints'), { url });

    const answers = [
      await visitor.post(at('webhooks/endpoints'), { url }),
      await visitor.post(at('webhooks/endpoints'), { url: 'ftp://shop.example', type: 'refund.failed' }),
      await visitor.post(at('webhooks/endpoints'), { url: `${url}/2`, description: 'Stock\u202e' }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(answers[0]?.body).toContain('Another webhook endpoint has this URL.');
    expect(answers[1]?.body).toContain('This URL cannot receive webhooks of this environment.');
    expect(answers[1]?.body).toContain('value="ftp://shop.example"');
    expect(answers[1]?.body).toMatch(/value="refund\.failed" checked/);
    expect(answers[2]?.body).toContain('This value has the wrong format.');
    expect(answers[2]?.body).not.toContain('This URL cannot receive webhooks');
  });

  test('the page shows webhooks that wait, until the secret is created', async () => {
    const { merchantId, visitor, at, endpoints } = await atDeveloper();
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
    const { awaitedSecretCount } = await stack.webhookClient('operator').getPipelineStatus({});
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
    expect(awaitedSecretCount).toBeGreaterThanOrEqual(2n);
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
});
