import { describe, expect, test } from '@jest/globals';
import { ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantService } from '../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { waitUntil } from '../support/wait-until.ts';
import {
  directPath,
  directPayment,
  registration,
  sharedMerchantApi,
  sharedShop,
} from './merchant-api-harness.ts';
import type { EnvironmentName, Shop } from './merchant-api-harness.ts';
import { refusedKeyHint } from '../../src/rest-facade/key-hint.ts';
import { shared } from '../support/shared-stack.ts';

const api = sharedMerchantApi();
const shop = sharedShop(api);
const other = sharedShop(api);
const apiKeys = shared(
  () => Promise.resolve(api.stack.client(ApiKeyService, 'operator')),
  () => undefined,
);

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

  test('stays valid beside the new one when it is rotated with an overlap', async () => {
    const fresh = await api.newShop();
    const secret = fresh.keys.sandbox;
    const id = await sandboxKeyId(fresh);
    const rotated = await apiKeys.rotateApiKey({ merchantId: fresh.merchantId, apiKeyId: id });
    expect((await verify(fresh, secret)).status).toBe(404);
    expect((await verify(fresh, rotated.secret)).status).toBe(404);
  });

  test('is valid at once when it is new', async () => {
    const { secret } = await apiKeys.issueApiKey({
      merchantId: shop.merchantId,
      environment: Environment.SANDBOX,
    });
    expect((await verify(shop, secret)).status).toBe(404);
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
