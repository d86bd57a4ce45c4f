import { describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { waitUntil } from '../support/wait-until.ts';
import {
  directPath,
  directPayment,
  issuesOf,
  newOrderNumber,
  registration,
  sharedMerchantApi,
} from './merchant-api-harness.ts';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';

const api = sharedMerchantApi();

describe('States', () => {
  test('EXPIRED: the order expires when its payment session ends, and its order number remains in use', async () => {
    const { post, stack } = api;
    const shop = await api.newShop();
    const sent = registration();
    await post(shop, '/api/v1/register', sent);
    const database = new pg.Client({ connectionString: stack.databaseUrl });
    await database.connect();
    await database.query("update core.orders set expires_at = now() - interval '1 second', sweep_at = now()");
    await database.end();

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

describe('logs', () => {
  test('each process logs a request in one line with the same request id, and no line has a key or a phone number', async () => {
    const { post, stack } = api;
    const shop = await api.newShop();
    const phones = ['0911777301', '+251911777302', '911777303'];
    const sent = registration({ customer_phone: phones[0] });
    const { headers } = await post(shop, '/api/v1/register', sent);
    await post(shop, directPath, directPayment({ phone: phones[1] }));
    await post(
      shop,
      '/api/v1/register',
      registration({ customer_phone: phones[2], amount: phones[2], reason: '' }),
    );
    await post(shop, `/api/v1/verify/${phones[0]!}?phone=${phones[2]!}`, { phone: phones[0] });
    await post(shop, '/api/v1/verify', sent, { environment: 'production', apiKey: shop.keys.sandbox });
    await post(
      shop,
      '/api/v1/verify',
      { order_number: newOrderNumber() },
      { apiKey: `${shop.keys.sandbox}x` },
    );

    const requestId = headers.get('x-request-id');
    const ofRequest = (line: Readonly<Record<string, unknown>>): boolean => line['request_id'] === requestId;
    const [facade, core] = [stack.facades[0]!.process.log, stack.cores[0]!.log];
    await waitUntil('the lines are there', () => facade.filter(({ msg }) => msg === 'request').length >= 6);
    expect(facade.filter(ofRequest)).toEqual([
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
    expect(core.filter(ofRequest).map((line) => line['rpc'])).toEqual(
      expect.arrayContaining(['ApiKeyService/AuthenticateApiKey', 'OrderService/BatchRegisterOrders']),
    );
    const everything = JSON.stringify([facade, core]);
    for (const secret of [shop.keys.sandbox, shop.keys.production, '911777301', '911777302', '911777303']) {
      expect(everything.includes(secret)).toBe(false);
    }
  });
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
