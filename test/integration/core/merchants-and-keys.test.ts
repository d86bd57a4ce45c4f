import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@connectrpc/connect';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import pg from 'pg';
import { ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { MerchantService, MerchantStatus } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { registration } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

let stack: Stack;
let merchants: Client<typeof MerchantService>;
let apiKeys: Client<typeof ApiKeyService>;
let gate: Client<typeof ApiKeyService>;
let audit: Client<typeof AuditService>;

beforeAll(async () => {
  stack = await startStack();
  merchants = stack.client(MerchantService, 'operator');
  apiKeys = stack.client(ApiKeyService, 'operator');
  gate = stack.client(ApiKeyService, 'facade');
  audit = stack.client(AuditService, 'reader');
});

afterAll(() => stack.stop());

const issue = (merchantId: string, environment = Environment.SANDBOX) =>
  apiKeys.issueApiKey({ merchantId, environment });
const enter = (apiKey: string, environment = Environment.SANDBOX) =>
  gate.authenticateApiKey({ apiKey, environment });
const refusedAs = async (apiKey: string, environment = Environment.SANDBOX) =>
  (await failureOf(enter(apiKey, environment))).reason;

/** What the merchant API answers this key, through the facade and its memory of keys. */
async function restStatus(apiKey: string): Promise<number> {
  const response = await fetch(`${stack.facades[0]?.sandbox}/api/v1/verify`, {
    method: 'POST',
    headers: { apiKey, 'content-type': 'application/json' },
    body: '{"order_number":"none"}',
  });
  return response.status;
}

const secretsOf = (...secrets: string[]) => secrets.map((secret) => new RegExp(secret.slice(16)));

describe('merchants', () => {
  test('are created active, listed newest first and read again', async () => {
    const { merchant: first } = await merchants.createMerchant({ name: 'First' });
    const { merchant: second } = await merchants.createMerchant({
      name: 'Second ሁለተኛ',
      productionActivated: true,
    });

    const page = await merchants.listMerchants({ pageSize: 1 });
    const next = await merchants.listMerchants({ pageSize: 1, pageToken: page.nextPageToken });
    const { merchant: read } = await merchants.getMerchant({ merchantId: first?.merchantId ?? '' });

    expect([...page.merchants, ...next.merchants]).toEqual([second, first]);
    expect(read).toEqual(first);
    expect(first).toMatchObject({
      name: 'First',
      status: MerchantStatus.ACTIVE,
      productionActivated: false,
      sessionLifetime: { seconds: 1800n },
    });
    expect(second).toMatchObject({ productionActivated: true });
  });

  test.each([
    ['no name', { name: '' }, 'name'],
    ['a name of 129 characters', { name: 'x'.repeat(129) }, 'name'],
    ['a name with a line break', { name: 'a\nb' }, 'name'],
    ['4 minutes for a session', { name: 'x', sessionLifetime: { seconds: 240n } }, 'session_lifetime'],
    ['25 hours for a session', { name: 'x', sessionLifetime: { seconds: 90_000n } }, 'session_lifetime'],
    ['half a second more', { name: 'x', sessionLifetime: { seconds: 300n, nanos: 5e8 } }, 'session_lifetime'],
  ])('are not created with %s', async (_name, request, field) => {
    const failure = await failureOf(merchants.createMerchant(request));

    expect(Object.keys(failure.issues)).toEqual([field]);
  });

  test('that are suspended can register nothing, and can again when resumed', async () => {
    const { id: merchantId, testKey } = await stack.createMerchant();
    const orders = stack.client(OrderService, 'writer');
    await merchants.suspendMerchant({ merchantId, reason: 'unpaid fees' });

    expect(await refusedAs(testKey)).toBe('MERCHANT_SUSPENDED');
    await waitUntil(
      'a suspended merchant is refused',
      async () => {
        const outcome = await orders
          .registerOrder(registration({ merchantId }))
          .catch((error: unknown) => error);
        return outcome instanceof Error;
      },
      5_000,
    );
    await merchants.resumeMerchant({ merchantId });
    expect((await enter(testKey)).merchantId).toBe(merchantId);
    await waitUntil(
      'a resumed merchant registers',
      () => orders.registerOrder(registration({ merchantId })).catch(() => false as const),
      5_000,
    );
  });

  test('are let into production once, and the live key works from then on', async () => {
    const { id: merchantId, liveKey } = await stack.createMerchant({ productionActivated: false });
    expect(await refusedAs(liveKey, Environment.PRODUCTION)).toBe('PRODUCTION_NOT_ACTIVATED');

    const { merchant } = await merchants.activateProduction({ merchantId });

    expect(merchant?.productionActivated).toBe(true);
    expect((await enter(liveKey, Environment.PRODUCTION)).merchantId).toBe(merchantId);
  });

  test.each(['getMerchant', 'suspendMerchant', 'resumeMerchant', 'activateProduction'] as const)(
    '%s of nobody is NOT_FOUND',
    async (method) => {
      const failure = await failureOf(merchants[method]({ merchantId: 'mer_01h455vb4pex5vsknk084sn02q' }));

      expect(failure).toMatchObject({ code: 'NotFound', reason: 'MERCHANT_NOT_FOUND' });
    },
  );
});

describe('API keys', () => {
  test('have the form that was promised and are recognised by their beginning', async () => {
    const { id: merchantId } = await stack.createMerchant();

    const test = await issue(merchantId);
    const live = await issue(merchantId, Environment.PRODUCTION);

    expect(test.secret).toMatch(/^svc_test_[A-Za-z0-9_-]{50}$/);
    expect(live.secret).toMatch(/^svc_live_[A-Za-z0-9_-]{50}$/);
    expect(test.secret.startsWith(test.apiKey?.prefix ?? '-')).toBe(true);
    expect(test.apiKey?.prefix).toHaveLength(15);
  });

  test.each<[string, (key: string) => [string, Environment]]>([
    ['of the other environment', (key: string) => [key, Environment.PRODUCTION]],
    [
      'with one character changed',
      (key: string) => [
        `${key.slice(0, 20)}${key[20] === 'A' ? 'B' : 'A'}${key.slice(21)}`,
        Environment.SANDBOX,
      ],
    ],
    ['cut short', (key: string) => [key.slice(0, -1), Environment.SANDBOX]],
    ['with something added', (key: string) => [`${key}0`, Environment.SANDBOX]],
    ['in the other case', (key: string) => [key.toUpperCase(), Environment.SANDBOX]],
    ['given twice', (key: string) => [`${key}, ${key}`, Environment.SANDBOX]],
    ['that is empty', () => ['', Environment.SANDBOX]],
  ])('%s open nothing', async (_name, spoil) => {
    const { testKey } = await stack.createMerchant();

    expect(await refusedAs(...spoil(testKey))).toBe('INVALID_API_KEY');
  });

  test('are stored as a keyed hash alone: a dump of the database holds no key', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const { secret } = await issue(merchantId);
    const database = new pg.Client({ connectionString: stack.databaseUrl });
    await database.connect();
    const { rows } = await database.query<{ row: string }>(
      `select k::text as row from core.api_keys k union all select a::text from core.audit_entries a`,
    );
    await database.end();

    const dump = rows.map(({ row }) => row).join('\n');
    expect(dump).toContain(secret.slice(0, 15));
    for (const canary of secretsOf(secret)) expect(dump).not.toMatch(canary);
  });

  test('remember when they were last used', async () => {
    const { id: merchantId, testKey } = await stack.createMerchant();
    const before = (await apiKeys.listApiKeys({ merchantId, environment: Environment.SANDBOX })).apiKeys[0];
    const calledAt = Date.now();

    await enter(testKey);

    const after = (await apiKeys.listApiKeys({ merchantId, environment: Environment.SANDBOX })).apiKeys[0];
    expect(before?.lastUsedTime).toBeUndefined();
    const usedAt = after?.lastUsedTime === undefined ? 0 : timestampDate(after.lastUsedTime).getTime();
    expect(Math.abs(usedAt - calledAt)).toBeLessThan(60_000);
  });

  test('are listed newest first, without the keys themselves', async () => {
    const { id: merchantId } = await stack.createMerchant();
    await apiKeys.issueApiKey({ merchantId, environment: Environment.SANDBOX, label: 'till 2' });

    const { apiKeys: all } = await apiKeys.listApiKeys({ merchantId });
    const { apiKeys: sandbox } = await apiKeys.listApiKeys({ merchantId, environment: Environment.SANDBOX });

    expect(all).toHaveLength(3);
    expect(sandbox.map(({ label }) => label)).toEqual(['till 2', '']);
  });

  test('are at most 20 usable ones; revoking makes room, and two issued at once do not slip through', async () => {
    const { id: merchantId } = await stack.createMerchant();
    for (let count = 1; count < 19; count += 1) await issue(merchantId);

    const outcomes = await Promise.allSettled([issue(merchantId), issue(merchantId), issue(merchantId)]);
    const failure = await failureOf(issue(merchantId));

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(failure).toMatchObject({ code: 'ResourceExhausted', reason: 'TOO_MANY_API_KEYS' });
    const { apiKeys: keys } = await apiKeys.listApiKeys({ merchantId, environment: Environment.SANDBOX });
    await apiKeys.revokeApiKey({ merchantId, apiKeyId: keys[0]?.apiKeyId ?? '' });
    expect((await issue(merchantId)).secret).toMatch(/^svc_test_/);
  });
});

describe('ending a key', () => {
  test('revoked, it is dead at once in core and within 5 seconds at every facade', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const { secret, apiKey } = await issue(merchantId);
    expect(await restStatus(secret)).toBe(404);

    await apiKeys.revokeApiKey({ merchantId, apiKeyId: apiKey?.apiKeyId ?? '' });

    expect(await refusedAs(secret)).toBe('INVALID_API_KEY');
    await waitUntil('the facade refuses the key', async () => (await restStatus(secret)) === 401);
  });

  test('rotated, both keys work during the overlap and only the new one after it', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const old = await issue(merchantId);
    const rotated = await apiKeys.rotateApiKey({
      merchantId,
      apiKeyId: old.apiKey?.apiKeyId ?? '',
      overlap: { seconds: 2n },
    });

    expect((await enter(old.secret)).apiKeyId).toBe(old.apiKey?.apiKeyId);
    expect((await enter(rotated.secret)).apiKeyId).toBe(rotated.apiKey?.apiKeyId);
    expect(rotated.replaced?.expireTime).toBeDefined();
    await waitUntil('the old key has ended', () =>
      refusedAs(old.secret).then(
        (reason) => reason === 'INVALID_API_KEY',
        () => false,
      ),
    );
    expect((await enter(rotated.secret)).merchantId).toBe(merchantId);
  });

  test('rotated without a word, the old key has 24 hours', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const old = await issue(merchantId);

    const { replaced, apiKey } = await apiKeys.rotateApiKey({
      merchantId,
      apiKeyId: old.apiKey?.apiKeyId ?? '',
    });

    const overlap = Number(replaced?.expireTime?.seconds) - Number(apiKey?.createTime?.seconds);
    expect(overlap).toBe(86_400);
  });

  test('rotated twice, the older key is not given more time', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const old = await issue(merchantId);
    const apiKeyId = old.apiKey?.apiKeyId ?? '';
    const first = await apiKeys.rotateApiKey({ merchantId, apiKeyId, overlap: { seconds: 3600n } });

    const second = await apiKeys.rotateApiKey({ merchantId, apiKeyId, overlap: { seconds: 7200n } });

    expect(second.replaced?.expireTime).toEqual(first.replaced?.expireTime);
  });

  test('that has ended cannot be rotated; revoking it again changes nothing', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const { apiKey } = await issue(merchantId);
    const apiKeyId = apiKey?.apiKeyId ?? '';
    const first = await apiKeys.revokeApiKey({ merchantId, apiKeyId });

    const failure = await failureOf(apiKeys.rotateApiKey({ merchantId, apiKeyId }));
    const second = await apiKeys.revokeApiKey({ merchantId, apiKeyId });

    expect(failure).toMatchObject({ code: 'FailedPrecondition', reason: 'API_KEY_NOT_USABLE' });
    expect(second).toEqual(first);
  });

  test("another merchant's key is not found", async () => {
    const [one, other] = [await stack.createMerchant(), await stack.createMerchant()];
    const { apiKey } = await issue(one.id);
    const names = { merchantId: other.id, apiKeyId: apiKey?.apiKeyId ?? '' };

    const revoking = await failureOf(apiKeys.revokeApiKey(names));
    const rotating = await failureOf(apiKeys.rotateApiKey(names));

    expect([revoking.reason, rotating.reason]).toEqual(['API_KEY_NOT_FOUND', 'API_KEY_NOT_FOUND']);
  });
});

describe('the audit log', () => {
  test('says who did what to which merchant, and holds no secret', async () => {
    const { id: merchantId } = await stack.createMerchant();
    const { secret, apiKey } = await apiKeys.issueApiKey(
      { merchantId, environment: Environment.SANDBOX, label: 'till' },
      { headers: { 'x-gatehouse-actor': 'abebe', 'x-request-id': 'req-1' } },
    );
    await apiKeys.rotateApiKey({ merchantId, apiKeyId: apiKey?.apiKeyId ?? '' });
    await apiKeys.revokeApiKey({ merchantId, apiKeyId: apiKey?.apiKeyId ?? '' });
    await merchants.suspendMerchant({ merchantId, reason: 'unpaid fees' });
    await merchants.suspendMerchant({ merchantId });
    await merchants.resumeMerchant({ merchantId });

    const { entries } = await audit.listAuditEntries({ merchantId });

    expect(entries.map(({ action }) => action)).toEqual([
      'merchant.resume',
      'merchant.suspend',
      'api_key.revoke',
      'api_key.rotate',
      'api_key.issue',
      'api_key.issue',
      'api_key.issue',
      'merchant.create',
    ]);
    const issued = entries[4];
    expect(issued).toMatchObject({
      actor: 'operator:abebe',
      requestId: 'req-1',
      targetId: apiKey?.apiKeyId,
      details: { label: 'till', environment: 'SANDBOX' },
    });
    expect(entries[1]?.details).toEqual({ reason: 'unpaid fees' });
    const text = JSON.stringify(entries.map(({ details }) => details));
    for (const canary of secretsOf(secret)) expect(text).not.toMatch(canary);
  });

  test('is read page by page', async () => {
    const { id: merchantId } = await stack.createMerchant();

    const first = await audit.listAuditEntries({ merchantId, pageSize: 2 });
    const second = await audit.listAuditEntries({ merchantId, pageSize: 2, pageToken: first.nextPageToken });

    expect([...first.entries, ...second.entries].map(({ action }) => action)).toEqual([
      'api_key.issue',
      'api_key.issue',
      'merchant.create',
    ]);
    expect(second.nextPageToken).toBe('');
  });
});
