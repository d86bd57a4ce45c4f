import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { waitUntil } from '../support/wait-until.ts';
import {
  directPath,
  directPayment,
  issuesOf,
  newOrderNumber,
  registration,
  without,
  sharedMerchantApi,
  sharedShop,
} from './merchant-api-harness.ts';
import type { Answer, EnvironmentName, Shop } from './merchant-api-harness.ts';
import { refusedKeyHint } from '../../src/rest-facade/key-hint.ts';
import { shared } from '../support/shared-stack.ts';
import { queryOnce } from '../support/database-connections.ts';

const api = sharedMerchantApi();
const shop = sharedShop(api);
const other = sharedShop(api);
const apiKeys = shared(
  () => Promise.resolve(api.stack.client(ApiKeyService, 'operator')),
  () => undefined,
);

const register = (body: object): Promise<Answer> => api.post(shop, '/api/v1/register', body);
const verify = (orderNumber: string): Promise<Answer> =>
  api.post(shop, '/api/v1/verify', { order_number: orderNumber });

async function verifiedData(orderNumber: string): Promise<Readonly<Record<string, unknown>>> {
  const { status, json } = await verify(orderNumber);
  expect(status).toBe(200);
  return json['data'] as Record<string, unknown>;
}

describe('Resources and their fields: payment order', () => {
  const orderNumber = newOrderNumber();
  let order: Readonly<Record<string, unknown>>;
  let [notBefore, notAfter] = [0, 0];
  beforeAll(async () => {
    notBefore = Date.now();
    await register(registration({ order_number: orderNumber }));
    notAfter = Date.now();
    order = await verifiedData(orderNumber);
  });

  test('has the twelve fields of the table, in its order, and no other', () => {
    expect(Object.keys(order)).toEqual([
      'order_id',
      'order_number',
      'status',
      'amount',
      'deducted',
      'currency',
      'payment_option',
      'payment_type',
      'customer_phone',
      'reason',
      'created_timestamp',
      'updated_timestamp',
    ]);
  });
  test.each([
    ['order_id: internal ID of the order, assigned by the service', /^ord_[0-9a-z]{26}$/],
    ["order_number: the merchant's own unique order reference", new RegExp(`^${orderNumber}$`)],
    ['status: current status', /^PENDING$/],
    ['amount: original transaction amount, byte for byte', /^100\.50$/],
    ["deducted: zero with the currency's decimals until the wallet has debited", /^0\.00$/],
    ['currency: currency code of the transaction', /^ETB$/],
    ['payment_option: empty until one is chosen', /^$/],
    ['payment_type: API for a registered order', /^API$/],
    ['customer_phone: as it was sent', /^0911223344$/],
    ['reason: payment description', /^Three books$/],
  ])('%s', (line, value) => {
    expect(order[line.split(':')[0]!]).toEqual(expect.stringMatching(value));
  });
  test('created_timestamp: creation time, ISO 8601 UTC form with milliseconds', () => {
    const created = String(order['created_timestamp']);
    expect(created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(created)).toBeGreaterThanOrEqual(notBefore - 1);
    expect(Date.parse(created)).toBeLessThanOrEqual(notAfter + 1);
  });
  test('updated_timestamp: the creation time while the status has not changed', () => {
    expect(order['updated_timestamp']).toBe(order['created_timestamp']);
  });
});

describe('Response envelopes', () => {
  test('Registration success: code 1, message, data with checkout_url', async () => {
    const { status, json } = await register(registration());
    expect(status).toBe(201);
    expect(json).toEqual({
      code: 1,
      message: expect.any(String),
      data: { checkout_url: expect.stringMatching(/^https?:\/\/[^/]+\/c\/[A-Za-z0-9_-]{43,}$/) },
    });
  });
  test('Status success: code 200, message, data with the payment order', async () => {
    const sent = registration();
    await register(sent);
    const { status, json } = await verify(sent.order_number);
    expect(status).toBe(200);
    expect(Object.keys(json)).toEqual(['code', 'message', 'data']);
    expect(json).toMatchObject({ code: 200, message: expect.any(String) });
  });
  test('Direct payment success: message, payment_status PENDING', async () => {
    const { status, json } = await api.post(shop, directPath, directPayment());
    expect(status).toBe(201);
    expect(json).toEqual({ message: expect.any(String), payment_status: 'PENDING' });
  });
  test('Error: code equal to the HTTP status, message', async () => {
    const { status, json } = await verify(newOrderNumber());
    expect({ status, json }).toEqual({ status: 404, json: { code: 404, message: 'Not found' } });
  });
  test('Error: direct-payment 400 has details with field and issue', async () => {
    const { status, json } = await api.post(shop, directPath, without(directPayment(), 'phone'));
    expect({ status, json }).toEqual({
      status: 400,
      json: {
        code: 400,
        message: 'Invalid request parameters',
        details: [{ field: 'phone', issue: 'is required' }],
      },
    });
  });
});

describe('1. Register payment order: request body', () => {
  describe.each(['order_number', 'return_url', 'amount', 'currency', 'reason', 'customer_phone'])(
    '%s',
    (field) => {
      test('is required', async () => {
        const body = without(registration(), field);
        const answer = await register(body);
        expect(answer.status).toBe(400);
        expect(answer.json['message']).toBe('Bad request');
        expect(issuesOf(answer)).toEqual({ [field]: 'is required' });
      });
      test.each([[1], [null]])('is a string, not %j', async (value) => {
        const answer = await register(registration({ [field]: value }));
        expect(answer.status).toBe(400);
        expect(issuesOf(answer)).toEqual({ [field]: 'must be a string' });
      });
      test('must not be empty', async () => {
        const answer = await register(registration({ [field]: '' }));
        expect(issuesOf(answer)).toEqual({ [field]: 'is required' });
      });
    },
  );
  test('webhook_url is a string when it is sent', async () => {
    expect(issuesOf(await register(registration({ webhook_url: 5 })))).toEqual({
      webhook_url: 'must be a string',
    });
  });
  test.each([
    ['webhook_url is not required', () => without(registration(), 'webhook_url')],
    [
      'webhoook_url, the misspelling of the parameter table, is an unknown field',
      () => registration({ webhoook_url: 'not a URL' }),
    ],
    ['business_name is accepted', () => registration({ business_name: 'Abebe Books' })],
    ['unknown fields are ignored', () => registration({ anything: { a: [1, null] } })],
    ['USD is a currency, too', () => registration({ currency: 'USD' })],
  ])('%s', async (_what, body) => {
    expect((await register(body())).status).toBe(201);
  });
  test.each(['1', '0.01', '999999999999.99', '100', '100.5', '100.50'])(
    'amount %s is echoed as it is',
    async (amount) => {
      const sent = registration({ amount });
      await register(sent);
      expect(await verifiedData(sent.order_number)).toMatchObject({ amount });
    },
  );
  test.each(['+251911223344', '251911223344', '0911223344', '911223344', '0711223344', '+14155552671'])(
    'customer_phone %s is echoed as it is',
    async (phone) => {
      const sent = registration({ customer_phone: phone });
      await register(sent);
      expect(await verifiedData(sent.order_number)).toMatchObject({ customer_phone: phone });
    },
  );
  test('text in any script is echoed as it is', async () => {
    const sent = registration({ reason: 'ሦስት መጻሕፍት — 3 книги 📚' });
    await register(sent);
    expect(await verifiedData(sent.order_number)).toMatchObject({ reason: sent.reason });
  });
  test('the longest value of every field is accepted', async () => {
    const order_number = newOrderNumber().padEnd(64, '~');
    const url = `https://shop.example/${'x'.repeat(2048 - 'https://shop.example/'.length)}`;
    const { status } = await register(
      registration({
        order_number,
        return_url: url,
        webhook_url: url,
        reason: '📚'.repeat(255),
        business_name: 'x'.repeat(128),
      }),
    );
    expect(status).toBe(201);
    expect(await verifiedData(order_number)).toMatchObject({ order_number });
  });
});

describe('2. Initiate direct payment', () => {
  test.each(['walleta_ussd', 'walletb_ussd'])(
    'payment_option %s is allowed and shown in verify',
    async (option) => {
      const sent = directPayment();
      const { status } = await api.post(shop, `/api/v1/direct?payment_option=${option}`, sent);
      expect(status).toBe(201);
      expect(await verifiedData(sent.order_number)).toMatchObject({
        payment_option: option,
        payment_type: 'DIRECT',
        status: 'PENDING',
        customer_phone: sent.phone,
        reason: '',
        amount: sent.amount,
      });
    },
  );
  test.each([
    ['', 'is required; one of walleta_ussd, walletb_ussd'],
    ['?payment_option=mpesa', 'must be one of walleta_ussd, walletb_ussd'],
  ])('payment_option "%s" is refused', async (query, issue) => {
    const sent = directPayment();
    const answer = await api.post(shop, `/api/v1/direct${query}`, sent);
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual({ payment_option: issue });
    expect((await verify(sent.order_number)).status).toBe(404);
  });
  describe.each(['amount', 'currency', 'order_number', 'phone'])('%s', (field) => {
    test('is required', async () => {
      const answer = await api.post(shop, directPath, without(directPayment(), field));
      expect(answer.status).toBe(400);
      expect(issuesOf(answer)).toEqual({ [field]: 'is required' });
    });
    test.each([[1], [null]])('is a string, not %j', async (value) => {
      const answer = await api.post(shop, directPath, directPayment({ [field]: value }));
      expect(issuesOf(answer)).toEqual({ [field]: 'must be a string' });
    });
  });
});

describe('3. Check payment order status: request body', () => {
  test.each([[{}], [{ order_number: '' }]])('order_number is required: %j', async (body) => {
    const answer = await api.post(shop, '/api/v1/verify', body);
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual({ order_number: 'is required' });
  });
  test.each([[1], [null], [['x']]])('order_number is a string, not %j', async (order_number) => {
    const answer = await api.post(shop, '/api/v1/verify', { order_number });
    expect(issuesOf(answer)).toEqual({ order_number: 'must be a string' });
  });
});

describe('Errors', () => {
  const paths = ['/api/v1/register', '/api/v1/verify', directPath];

  test('400 Bad request names every problem at once, in the order of the table', async () => {
    const { json } = await register({
      business_name: 'x'.repeat(129),
      customer_phone: 'nobody',
      currency: 'XXX',
      amount: '1.001',
      webhook_url: 'ftp://shop.example',
      return_url: 5,
      order_number: 'a b',
    });
    expect(json).toMatchObject({ code: 400, message: 'Bad request' });
    expect((json['details'] as { field: string }[]).map(({ field }) => field)).toEqual([
      'order_number',
      'return_url',
      'webhook_url',
      'currency',
      'reason',
      'customer_phone',
      'business_name',
    ]);
  });
  test.each(paths)('401 without a key, and with an invalid one: %s', async (path) => {
    const message = path === directPath ? 'API key is invalid or missing' : 'Unauthorized';
    const details = [{ field: 'apiKey', issue: expect.any(String) }];
    for (const apiKey of [null, 'svc_test_nobody'])
      expect((await api.post(shop, path, {}, { apiKey })).json).toEqual({ code: 401, message, details });
  });
  test('403 Forbidden for a merchant that is not activated for production; direct says 401', async () => {
    const unready = await api.newShop({ productionActivated: false });
    const call = async (path: string) =>
      (await api.post(unready, path, {}, { environment: 'production' })).json;
    expect(await call('/api/v1/register')).toEqual({ code: 403, message: 'Forbidden' });
    expect(await call('/api/v1/verify')).toEqual({ code: 403, message: 'Forbidden' });
    expect(await call(directPath)).toMatchObject({ code: 401, message: 'API key is invalid or missing' });
  });
  test('404 Not found for an endpoint that does not exist', async () => {
    expect((await api.post(shop, '/api/v1/refunds', {})).json).toEqual({
      code: 404,
      message: 'Not found',
      details: [{ field: 'path', issue: expect.stringContaining('does not exist') }],
    });
  });
  test('404 Not found for another method than POST', async () => {
    for (const path of paths) {
      const response = await fetch(api.rest.sandbox + path);
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({
        code: 404,
        message: 'Not found',
        details: [{ field: 'method', issue: 'must be POST' }],
      });
    }
  });
});

describe('Production', () => {
  const inProduction = { environment: 'production' } as const;
  test('accepts https URLs only', async () => {
    const sent = registration({ return_url: 'http://shop.example', webhook_url: 'http://shop.example' });
    const answer = await api.post(shop, '/api/v1/register', sent, inProduction);
    expect(Object.keys(issuesOf(answer))).toEqual(['return_url', 'webhook_url']);
    expect((await register(sent)).status).toBe(201);
  });
});

test('every reply has a request id, which is the one of the request if it has one', async () => {
  const own = await api.post(shop, '/api/v1/verify', {}, { headers: { 'x-request-id': 'my-request.1' } });
  const made = await api.post(shop, '/api/v1/verify', {});
  expect(own.headers.get('x-request-id')).toBe('my-request.1');
  expect(made.headers.get('x-request-id')).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});

describe('docs/merchant-api.md', () => {
  interface Example {
    readonly path: string;
    readonly body: string;
    readonly reply: Readonly<Record<string, unknown>>;
  }
  /** Each curl of the page, and the reply that is shown under it. */
  async function examples(): Promise<Example[]> {
    const page = await readFile(resolve(import.meta.dirname, '../../docs/merchant-api.md'), 'utf8');
    const blocks = [...page.matchAll(/```(sh|json)\n([^]+?)```/g)].map(([, kind, text]) => ({
      kind,
      text: text!,
    }));
    return blocks.flatMap(({ kind, text }, at) => {
      const curl = /^curl -s "?\$GATEHOUSE([^\s"]+)"? .*-d '([^']+)'/s.exec(text);
      // Refunds need a paid order: merchant-api-refunds.test.ts has one.
      if (kind !== 'sh' || curl === null || curl[1]!.startsWith('/api/v1/refund')) return [];
      const reply = JSON.parse(blocks[at + 1]!.text) as Record<string, unknown>;
      return [{ path: curl[1]!, body: curl[2]!, reply }];
    });
  }
  /** The keys and the types of their values, because ids, times and tokens differ between runs. */
  const shape = (value: unknown): unknown =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([key, inner]) => [key, shape(inner)])
      : typeof value;

  test('has examples that get the documented answers', async () => {
    const shown = await examples();
    expect(shown.map(({ path }) => path)).toEqual([
      '/api/v1/register',
      '/api/v1/direct?payment_option=walleta_ussd',
      '/api/v1/verify',
      '/api/v1/explain',
      '/api/v1/register',
    ]);
    for (const { path, body, reply } of shown) {
      const { json } = await api.post(shop, path, body);
      expect(shape(json)).toEqual(shape(reply));
      expect(json['message']).toBe(reply['message']);
      if (json['code'] === 400) expect(json).toEqual(reply);
    }
  });
});

const environments: readonly EnvironmentName[] = ['sandbox', 'production'];
const elsewhere = { sandbox: 'production', production: 'sandbox' } as const;
const endpoints = [
  ['/api/v1/register', () => registration()],
  [directPath, () => directPayment()],
  ['/payment/v1/direct?payment_option=walleta_ussd', () => directPayment()],
  ['/api/v1/direct/payment/v1/direct?payment_option=walleta_ussd', () => directPayment()],
  ['/api/v1/verify', () => ({ order_number: 'anything' })],
] as const;

describe.each(environments)('a key of %s', (environment) => {
  test.each(endpoints)('is accepted at %s of that environment', async (path, body) => {
    const { status } = await api.post(shop, path, body(), { environment });
    expect(status).toBe(path === '/api/v1/verify' ? 404 : 201);
  });

  test.each(endpoints)(
    'gets 401 at %s of the other environment, and leaves no trace there',
    async (path, body) => {
      const sent = body();
      const wrong = elsewhere[environment];
      const apiKey = shop.keys[environment];
      expect((await api.post(shop, path, sent, { environment: wrong, apiKey })).status).toBe(401);
      expect((await api.post(shop, '/api/v1/verify', sent, { environment: wrong })).status).toBe(404);
    },
  );

  test('does not see the orders of the other environment', async () => {
    const sent = registration();
    await api.post(shop, '/api/v1/register', sent, { environment });
    expect((await api.post(shop, '/api/v1/verify', sent, { environment })).status).toBe(200);
    expect(
      (await api.post(shop, '/api/v1/verify', sent, { environment: elsewhere[environment] })).status,
    ).toBe(404);
  });

  test("gets 404 for another merchant's order, as for an order that does not exist", async () => {
    const sent = registration();
    await api.post(shop, '/api/v1/register', sent, { environment });
    const { status, json } = await api.post(other, '/api/v1/verify', sent, { environment });
    expect({ status, json }).toEqual({ status: 404, json: { code: 404, message: 'Not found' } });
  });

  test('registers an order number that another merchant also uses', async () => {
    const sent = registration();
    const mine = await api.post(shop, '/api/v1/register', sent, { environment });
    const theirs = await api.post(other, '/api/v1/register', { ...sent, amount: '7' }, { environment });
    expect([mine.status, theirs.status]).toEqual([201, 201]);
    expect(mine.json['data']).not.toEqual(theirs.json['data']);
    expect((await api.post(shop, '/api/v1/verify', sent, { environment })).json).toMatchObject({
      data: { amount: sent.amount },
    });
    expect((await api.post(other, '/api/v1/verify', sent, { environment })).json).toMatchObject({
      data: { amount: '7' },
    });
  });
});

/** Waits for an answer with that status, for as long as the merchant API promises. */
async function untilStatus(status: number, ask: () => Promise<{ status: number }>): Promise<void> {
  await waitUntil(`the answer is ${status}`, async () => (await ask()).status === status);
}

/** The shop's sandbox key, by its id. */
async function sandboxKeyId({ merchantId }: Shop): Promise<string> {
  const { apiKeys: keys } = await apiKeys.listApiKeys({ merchantId, environment: Environment.SANDBOX });
  return keys[0]!.apiKeyId;
}

describe('a key', () => {
  const verify = (who: Shop, apiKey: string) =>
    api.post(who, '/api/v1/verify', { order_number: 'x' }, { apiKey });

  test('is refused within 5 seconds after its revocation, although it was just used', async () => {
    const fresh = await api.newShop();
    const secret = fresh.keys.sandbox;
    const id = await sandboxKeyId(fresh);
    expect((await verify(fresh, secret)).status).toBe(404);
    await apiKeys.revokeApiKey({ merchantId: fresh.merchantId, apiKeyId: id });
    await untilStatus(401, () => verify(fresh, secret));
  });
});

test('a suspended merchant gets 403, or 401 at direct, within 5 seconds, and is served again after its suspension', async () => {
  const fresh = await api.newShop();
  const verify = () => api.post(fresh, '/api/v1/verify', { order_number: 'x' });
  expect((await verify()).status).toBe(404);

  const merchants = api.stack.client(MerchantService, 'operator');
  await merchants.suspendMerchant({ merchantId: fresh.merchantId });
  await untilStatus(403, verify);
  expect((await verify()).json).toEqual({ code: 403, message: 'Forbidden' });
  expect((await api.post(fresh, '/api/v1/register', registration())).status).toBe(403);
  expect((await api.post(fresh, directPath, directPayment())).json).toEqual({
    code: 401,
    message: 'API key is invalid or missing',
    details: [{ field: 'apiKey', issue: refusedKeyHint }],
  });

  await merchants.resumeMerchant({ merchantId: fresh.merchantId });
  await untilStatus(404, verify);
});

describe('States', () => {
  test('EXPIRED: the order expires when its payment session ends, and its order number remains in use', async () => {
    const { post, stack } = api;
    const shop = await api.newShop();
    const sent = registration();
    await post(shop, '/api/v1/register', sent);
    await queryOnce(
      stack.databaseUrl,
      "update core.orders set expires_at = now() - interval '1 second', sweep_at = now()",
    );

    const order = await waitUntil('the order has expired', async () => {
      const { json } = await post(shop, '/api/v1/verify', sent);
      const data = json['data'] as Readonly<Record<string, string>>;
      return data['status'] === 'EXPIRED' && data;
    });
    expect(order).toMatchObject({ deducted: '0.00', amount: sent.amount });
    expect(order['updated_timestamp']! > order['created_timestamp']!).toBe(true);

    for (const [path, body] of [
      ['/api/v1/register', sent],
      [directPath, directPayment({ order_number: sent.order_number })],
    ] as const) {
      const again = await post(shop, path, body);
      expect(again.status).toBe(400);
      expect(Object.keys(issuesOf(again))).toEqual(['order_number']);
    }
  });
});

test('each process logs a request in one line with the same request id', async () => {
  const { post, stack } = api;
  const shop = await api.newShop();
  const sent = registration();
  const { headers } = await post(shop, '/api/v1/register', sent);

  const requestId = headers.get('x-request-id');
  const linesOf = (log: readonly Readonly<Record<string, unknown>>[]) =>
    log.filter((line) => line['request_id'] === requestId);
  const [facade, core] = [stack.facades[0]!.process.log, stack.cores[0]!.log];
  await waitUntil('the line is there', () => linesOf(facade).length > 0);
  expect(linesOf(facade)).toEqual([
    expect.objectContaining({
      level: 'info',
      environment: 'sandbox',
      method: 'POST',
      route: '/api/v1/register',
      status: 201,
      merchant_id: shop.merchantId,
      api_key_id: expect.stringMatching(/^key_/),
      order_number: sent.order_number,
      ip: '127.0.0.1',
      duration_ms: expect.any(Number),
    }),
  ]);
  expect(linesOf(core).map((line) => line['rpc'])).toEqual(
    expect.arrayContaining(['ApiKeyService/AuthenticateApiKey', 'OrderService/BatchRegisterOrders']),
  );
});

test('requests above the limit per second get the documented 429 with Retry-After', async () => {
  const { post, stack } = api;
  const shop = await api.newShop();
  await stack
    .client(MerchantService, 'operator')
    .updateMerchant({ merchantId: shop.merchantId, terms: { requestsPerSecond: 5 } });
  const answers = await Promise.all(
    Array.from({ length: 15 }, () => post(shop, '/api/v1/verify', { order_number: 'x' })),
  );
  const limited = answers.find(({ status }) => status === 429);
  expect(limited?.json).toEqual({ code: 429, message: 'Too many requests' });
  expect(limited?.headers.get('retry-after')).toBe('1');
});

// The last test, because core does not start again.
describe('when core is unavailable', () => {
  test('each endpoint answers 500 with its documented message, /readyz answers 503, and /healthz answers 200', async () => {
    const { post, stack, rest } = api;
    const shop = await api.newShop();
    const sent = registration();
    expect((await post(shop, '/api/v1/register', sent)).status).toBe(201);
    await stack.cores[0]!.stop();

    const internal = { code: 500, message: 'Internal server error' };
    expect((await post(shop, '/api/v1/register', registration())).json).toEqual(internal);
    expect((await post(shop, '/api/v1/verify', sent)).json).toEqual(internal);
    expect((await post(shop, directPath, directPayment())).json).toEqual({
      code: 500,
      message: 'The payment could not be processed',
    });
    expect((await fetch(`${rest.sandbox}/healthz`)).status).toBe(200);
    const ready = await waitUntil('readyz says 503', async () => {
      const response = await fetch(`${rest.sandbox}/readyz`);
      return response.status === 503 && response;
    });
    expect(await ready.json()).toEqual({ code: 503, message: 'Core is not ready' });
  });
});
