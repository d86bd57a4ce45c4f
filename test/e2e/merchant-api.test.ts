import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
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
import type { Answer } from './merchant-api-harness.ts';

const api = sharedMerchantApi();
const shop = sharedShop(api);

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
      test.each([[1], [null], [true], [['x']], [{ x: 1 }]])('is a string, not %j', async (value) => {
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
  test('webhook_url is not required', async () => {
    expect((await register(without(registration(), 'webhook_url'))).status).toBe(201);
  });
  test('webhook_url is a string when it is sent', async () => {
    expect(issuesOf(await register(registration({ webhook_url: 5 })))).toEqual({
      webhook_url: 'must be a string',
    });
  });
  test('webhoook_url, the misspelling of the parameter table, is an unknown field', async () => {
    expect((await register(registration({ webhoook_url: 'not a URL' }))).status).toBe(201);
  });
  test('business_name is accepted', async () => {
    expect((await register(registration({ business_name: 'Abebe Books' }))).status).toBe(201);
  });
  test('unknown fields are ignored', async () => {
    expect((await register(registration({ anything: { a: [1, null] } }))).status).toBe(201);
  });
  test('USD is a currency, too', async () => {
    expect((await register(registration({ currency: 'USD' }))).status).toBe(201);
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
    ['?payment_option=', 'is required; one of walleta_ussd, walletb_ussd'],
    ['?payment_option=walleta_wallet', 'must be one of walleta_ussd, walletb_ussd'],
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
    test.each([[1], [null], [['x']]])('is a string, not %j', async (value) => {
      const answer = await api.post(shop, directPath, directPayment({ [field]: value }));
      expect(issuesOf(answer)).toEqual({ [field]: 'must be a string' });
    });
  });
  test.each(['/api/v1/direct', '/payment/v1/direct', '/api/v1/direct/payment/v1/direct'])(
    'answers at %s',
    async (path) => {
      const sent = directPayment();
      expect((await api.post(shop, `${path}?payment_option=walleta_ussd`, sent)).status).toBe(201);
      expect((await verify(sent.order_number)).status).toBe(200);
    },
  );
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
  test.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('404 Not found for %s', async (method) => {
    for (const path of paths) {
      const response = await fetch(api.rest.sandbox + path, { method });
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

  test('registers and verifies with a live key', async () => {
    const sent = registration();
    expect((await api.post(shop, '/api/v1/register', sent, inProduction)).status).toBe(201);
    expect((await api.post(shop, '/api/v1/verify', sent, inProduction)).status).toBe(200);
  });
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
