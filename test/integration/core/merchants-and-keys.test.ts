import { describe, expect, test, beforeEach } from '@jest/globals';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { v7 } from 'uuid';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { publicId, uuidOfId } from '../../../src/contract/public-id.ts';
import type { StoredId } from '../../../src/contract/public-id.ts';
import { ApiKeyScope, ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { MerchantService, MerchantStatus } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { registration, directPayment } from '../../support/order-requests.ts';
import { failureOf, outcomeOf, refusalOf, wrongFields } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { connectToDatabase, queryOnce } from '../../support/database-connections.ts';
import { sharedStack, sharedClient } from '../../support/shared-stack.ts';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import type { MerchantTermsSchema } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import type { TestMerchant } from '../../support/stack.ts';
import { sql } from '../../support/sql.ts';

const stack = sharedStack({ facades: 0 });
const merchants = sharedClient(stack, MerchantService, 'operator');
const apiKeys = sharedClient(stack, ApiKeyService, 'operator');
const gate = sharedClient(stack, ApiKeyService, 'facade');
const audit = sharedClient(stack, AuditService, 'reader');
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

const issue = (merchantId: string, environment = Environment.SANDBOX) =>
  apiKeys.issueApiKey({ merchantId, environment });
const enter = (apiKey: string, environment = Environment.SANDBOX) =>
  gate.authenticateApiKey({ apiKey, environment });
const refusedAs = async (apiKey: string, environment = Environment.SANDBOX) =>
  await refusalOf(enter(apiKey, environment));

describe('merchants', () => {
  test('are found by a part of the name, page by page', async () => {
    for (const name of ['Sheger Books', 'Sheger Cafe', 'SHEGER_Shoes', 'Other Shop'])
      await merchants.createMerchant({ name });
    const find = async (text: string, page = {}) => {
      const answer = await merchants.listMerchants({ text, ...page });
      return { ...answer, names: answer.merchants.map(({ name }) => name) };
    };

    const first = await find(' sheger', { pageSize: 2 });
    const second = await find('sheger', { pageSize: 2, pageToken: first.nextPageToken });

    expect([first.names, second.names]).toEqual([['SHEGER_Shoes', 'Sheger Cafe'], ['Sheger Books']]);
    expect((await find('sheger_')).names).toEqual(['SHEGER_Shoes']);
    const other = find('other', { pageToken: first.nextPageToken });
    expect(await refusalOf(other)).toBe('INVALID_FIELDS');
  });

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

  test('are created once when two operators create the same lost merchant at once', async () => {
    const client = await connectToDatabase(stack.databaseUrl);
    const { rows } = await client.query<{ id: string }>(`
      insert into core.recoveries (id, cause, lost_from, lost_until, stream, closed, merchants_accepted_by, finished_at)
      values (gen_random_uuid(), 'OPERATOR', now() - interval '1 hour', now(), 'LOST', '{}', 'an operator', now()) returning id`);
    try {
      const lost = publicId('mer', v7() as StoredId<'mer'>);
      // Neither sees the other, because both read before one can write.
      await client.query('begin; lock table core.merchants in share mode');
      const both = Promise.all(
        ['one', 'other'].map((name) => outcomeOf(merchants.createMerchant({ name, merchantId: lost }))),
      );
      await waitUntil('both are about to write', async () => {
        const waiting = await client.query(`
          select from pg_locks where relation = 'core.merchants'::regclass and not granted`);
        return waiting.rowCount === 2;
      });
      await client.query('commit');

      expect((await both).sort()).toEqual(['MERCHANT_NOT_LOST', 'done']);
    } finally {
      await client.query(sql`delete from core.recoveries where id = ${rows[0]?.id}`);
      await client.end();
    }
  });

  test('cannot register orders while suspended, and can again when resumed', async () => {
    const { id: merchantId, testKey } = await stack.createMerchant();
    const orders = stack.client(OrderService, 'writer');
    await merchants.suspendMerchant({ merchantId, reason: 'unpaid fees' });

    expect(await refusedAs(testKey)).toBe('MERCHANT_SUSPENDED');
    const register = () => outcomeOf(orders.registerOrder(registration({ merchantId })));
    await waitUntil('its orders are refused', async () => (await register()) === 'MERCHANT_SUSPENDED');
    await merchants.resumeMerchant({ merchantId });
    expect((await enter(testKey)).merchantId).toBe(merchantId);
    await waitUntil('its orders are registered again', async () => (await register()) === 'done');
  });

  test('are activated for production once, and the live key is accepted from then on', async () => {
    const { id: merchantId, liveKey } = await stack.createMerchant({ productionActivated: false });
    expect(await refusedAs(liveKey, Environment.PRODUCTION)).toBe('PRODUCTION_NOT_ACTIVATED');

    const { merchant } = await merchants.activateProduction({ merchantId });

    expect(merchant?.productionActivated).toBe(true);
    expect((await enter(liveKey, Environment.PRODUCTION)).merchantId).toBe(merchantId);
  });

  test('that do not exist are NOT_FOUND', async () => {
    const merchantId = 'mer_01h455vb4pex5vsknk084sn02q';
    for (const method of ['getMerchant', 'suspendMerchant', 'resumeMerchant', 'activateProduction'] as const)
      expect(await failureOf(merchants[method]({ merchantId }))).toMatchObject({
        ...{ code: 'NotFound', reason: 'MERCHANT_NOT_FOUND' },
      });
  });
});

describe('API keys', () => {
  test('have the documented form, and are found by their prefix', async () => {
    const test = await issue(merchantId);
    const live = await issue(merchantId, Environment.PRODUCTION);

    expect(test.secret).toMatch(/^svc_test_[A-Za-z0-9_-]{50}$/);
    expect(live.secret).toMatch(/^svc_live_[A-Za-z0-9_-]{50}$/);
    expect(test.secret.startsWith(test.apiKey?.prefix ?? '-')).toBe(true);
    expect(test.apiKey?.prefix).toHaveLength(15);
  });

  test('that are altered, or belong to the other environment, are refused', async () => {
    const { testKey: key } = await stack.createMerchant();
    const changed = `${key.slice(0, 20)}${key[20] === 'A' ? 'B' : 'A'}${key.slice(21)}`;
    const altered = [changed, key.slice(0, -1), `${key}0`, key.toUpperCase(), `${key}, ${key}`, ''];
    for (const wrong of altered) expect(await refusedAs(wrong)).toBe('INVALID_API_KEY');
    expect(await refusedAs(key, Environment.PRODUCTION)).toBe('INVALID_API_KEY');
  });

  test('are stored as a keyed hash only, so a dump of the database contains no key', async () => {
    const { secret } = await issue(merchantId);
    const rows = await queryOnce<{ row: string }>(
      stack.databaseUrl,
      `select k::text as row from core.api_keys k union all select a::text from core.audit_entries a`,
    );

    const dump = rows.map(({ row }) => row).join('\n');
    expect(dump).toContain(secret.slice(0, 15));
    expect(dump).not.toContain(secret.slice(16));
  });

  test('record when they were last used', async () => {
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
    await apiKeys.issueApiKey({ merchantId, environment: Environment.SANDBOX, label: 'till 2' });

    const { apiKeys: all } = await apiKeys.listApiKeys({ merchantId });
    const { apiKeys: sandbox } = await apiKeys.listApiKeys({ merchantId, environment: Environment.SANDBOX });

    expect(all).toHaveLength(3);
    expect(sandbox.map(({ label }) => label)).toEqual(['till 2', '']);
  });

  test('are at most 20 usable ones: a revocation makes room, and concurrent calls do not exceed the limit', async () => {
    for (let count = 1; count < 19; count += 1) await issue(merchantId);

    const outcomes = await Promise.allSettled([issue(merchantId), issue(merchantId), issue(merchantId)]);
    const failure = await failureOf(issue(merchantId));

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(failure).toMatchObject({ code: 'ResourceExhausted', reason: 'TOO_MANY_API_KEYS' });
    const { apiKeys: keys } = await apiKeys.listApiKeys({ merchantId, environment: Environment.SANDBOX });
    await apiKeys.revokeApiKey({ merchantId, apiKeyId: keys[0]?.apiKeyId ?? '' });
    expect((await issue(merchantId)).secret).toMatch(/^svc_test_/);
  });

  test('are at most 40 usable ones with their successors, also by repeated and concurrent rotations', async () => {
    const { apiKey } = await issue(merchantId);
    const names = { merchantId, apiKeyId: apiKey?.apiKeyId ?? '' };
    for (let usable = 2; usable < 39; usable += 1) await apiKeys.rotateApiKey(names);

    const outcomes = await Promise.allSettled([apiKeys.rotateApiKey(names), apiKeys.rotateApiKey(names)]);
    const failure = await failureOf(apiKeys.rotateApiKey(names));

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(failure).toMatchObject({ code: 'ResourceExhausted', reason: 'TOO_MANY_API_KEYS' });
  });

  test('are all listed as long as they are usable, also behind 500 newer ones', async () => {
    const { apiKey } = await issue(merchantId);
    const [expired, revoked] = [await issue(merchantId), await issue(merchantId)];
    await apiKeys.revokeApiKey({ merchantId, apiKeyId: revoked.apiKey?.apiKeyId ?? '' });
    const names = { merchantId, apiKeyId: expired.apiKey?.apiKeyId ?? '' };
    const { apiKey: successor } = await apiKeys.rotateApiKey({ ...names, overlap: { seconds: 0n } });
    await queryOnce(
      stack.databaseUrl,
      sql`
        insert into core.api_keys (merchant_id, id, environment, prefix, key_hash, label, created_at, revoked_at)
        select merchant_id, uuidv7(), environment, prefix, sha256(uuidv7()::text::bytea), 'revoked', now(), now()
        from core.api_keys, generate_series(1, 500) where id = ${uuidOfId(apiKey?.apiKeyId ?? '')}`,
    );

    const { apiKeys: keys } = await apiKeys.listApiKeys({ merchantId, environment: Environment.SANDBOX });

    expect(keys.filter(({ label }) => label === 'revoked')).toHaveLength(500);
    expect(keys.slice(500).map(({ apiKeyId }) => apiKeyId)).toEqual([
      successor?.apiKeyId,
      apiKey?.apiKeyId,
      expect.stringMatching(/^key_/),
    ]);
  });
});

describe('ending a key', () => {
  test('a revoked key is refused at once', async () => {
    const { secret, apiKey } = await issue(merchantId);

    await apiKeys.revokeApiKey({ merchantId, apiKeyId: apiKey?.apiKeyId ?? '' });

    expect(await refusedAs(secret)).toBe('INVALID_API_KEY');
  });

  test('both keys are valid during the overlap of a rotation, 24 hours by default, and only the new one afterwards', async () => {
    const old = await issue(merchantId);
    const apiKeyId = old.apiKey?.apiKeyId ?? '';
    const first = await apiKeys.rotateApiKey({ merchantId, apiKeyId });
    const rotated = await apiKeys.rotateApiKey({ merchantId, apiKeyId, overlap: { seconds: 2n } });

    expect((await enter(old.secret)).apiKeyId).toBe(apiKeyId);
    expect((await enter(rotated.secret)).apiKeyId).toBe(rotated.apiKey?.apiKeyId);
    const [begin, end] = [first.apiKey?.createTime, first.replaced?.expireTime];
    expect(Number(end?.seconds) - Number(begin?.seconds)).toBe(86_400);
    expect(rotated.replaced?.expireTime).toBeDefined();
    await waitUntil(
      'the old key has ended',
      async () => (await outcomeOf(enter(old.secret))) === 'INVALID_API_KEY',
    );
    expect((await enter(rotated.secret)).merchantId).toBe(merchantId);
  });

  test.each([
    ['a part of a second', { seconds: 1n, nanos: 1 }],
    ['less than nothing', { seconds: -1n }],
    ['more than 30 days', { seconds: 2_592_001n }],
  ])('an overlap of %s is refused, and the key has no successor', async (_what, overlap) => {
    const { apiKey } = await issue(merchantId);
    const key = { merchantId, apiKeyId: apiKey?.apiKeyId ?? '' };

    expect(await wrongFields(apiKeys.rotateApiKey({ ...key, overlap }))).toBe('overlap');

    const longest = await apiKeys.rotateApiKey({ ...key, overlap: { seconds: 2_592_000n } });
    expect(longest.replaced?.expireTime).toBeDefined();
    expect((await apiKeys.listApiKeys({ merchantId })).apiKeys).toHaveLength(4);
  });
});

describe('the audit log', () => {
  test('shows who did what to which merchant, and contains no secret', async () => {
    const { secret, apiKey } = await apiKeys.issueApiKey(
      { merchantId, environment: Environment.SANDBOX, label: 'till' },
      { headers: { 'x-gatehouse-actor': 'abebe', 'x-request-id': 'req-1' } },
    );
    const key = { merchantId, apiKeyId: apiKey?.apiKeyId ?? '' };
    const { REFUNDS } = ApiKeyScope;
    // Of each repeated call, only the first changes something.
    for (const scopes of [[REFUNDS, REFUNDS], [REFUNDS]]) await apiKeys.setApiKeyScopes({ ...key, scopes });
    await apiKeys.rotateApiKey(key);
    for (let time = 1; time <= 2; time += 1) await apiKeys.revokeApiKey(key);
    await merchants.suspendMerchant({ merchantId, reason: 'unpaid fees' });
    await merchants.suspendMerchant({ merchantId });
    await merchants.resumeMerchant({ merchantId });

    const { entries } = await audit.listAuditEntries({ merchantId });

    expect(entries.map(({ action }) => action)).toEqual([
      'merchant.resume',
      'merchant.suspend',
      'api_key.revoke',
      'api_key.rotate',
      'api_key.set_scopes',
      'api_key.issue',
      'api_key.issue',
      'api_key.issue',
      'merchant.create',
    ]);
    const issued = entries[5];
    expect(issued).toMatchObject({
      actor: 'operator:abebe',
      requestId: 'req-1',
      createTime: apiKey?.createTime,
      targetId: apiKey?.apiKeyId,
      details: { label: 'till', environment: 'SANDBOX' },
    });
    expect(entries[1]?.details).toEqual({ reason: 'unpaid fees' });
    expect(JSON.stringify(entries.map(({ details }) => details))).not.toContain(secret.slice(16));
  });
});
const orders = sharedClient(stack, OrderService, 'operator');

type Terms = MessageInitShape<typeof MerchantTermsSchema>;

const withTerms = async (terms: Terms): Promise<TestMerchant> => {
  const merchant = await stack.createMerchant();
  await merchants.updateMerchant({ merchantId: merchant.id, terms });
  return merchant;
};
describe('a merchant is updated', () => {
  test('only in the given fields, and the change is in the audit log', async () => {
    const terms = {
      sandboxPaymentOptions: ['walleta_ussd'],
      currencies: ['ETB'],
      largestAmounts: [{ currency: 'ETB', amount: '500.50' }],
      requestsPerSecond: 7,
    };
    await merchants.updateMerchant({ merchantId, terms });

    const { merchant } = await merchants.updateMerchant({ merchantId, name: 'Other name' });

    expect(merchant).toMatchObject({ name: 'Other name', sessionLifetime: { seconds: 1800n }, terms });
    expect((await merchants.getMerchant({ merchantId })).merchant).toEqual(merchant);
    const { entries } = await audit.listAuditEntries({ merchantId });
    expect(entries[1]).toMatchObject({
      action: 'merchant.update',
      details: { currencies: 'ETB', requests_per_second: 7, largest_amounts: '500.50 ETB' },
    });
  });

  test('but the second of two updates from the same state is refused', async () => {
    const { merchant: seen } = await merchants.getMerchant({ merchantId });
    const expectedUpdateTime = seen!.updateTime!;
    await merchants.updateMerchant({ merchantId, expectedUpdateTime, name: 'First' });

    const failure = await failureOf(
      merchants.updateMerchant({ merchantId, expectedUpdateTime, name: 'Second' }),
    );

    expect(failure).toMatchObject({ code: 'Aborted', reason: 'CHANGED_MEANWHILE' });
    expect((await merchants.getMerchant({ merchantId })).merchant?.name).toBe('First');
  });

  test('and may keep options and currencies that are no longer configured', async () => {
    const terms = {
      productionPaymentOptions: ['walletz_ussd'],
      currencies: ['JPY'],
      largestAmounts: [{ currency: 'JPY', amount: '500' }],
    };
    const approvalLimits = [
      { currency: 'ETB', amount: '10', role: MemberRole.UNSPECIFIED },
      { currency: 'JPY', amount: '50', role: MemberRole.DEVELOPER },
    ];
    const change = () => merchants.updateMerchant({ merchantId, terms, refundPolicy: { approvalLimits } });
    const refused = Object.keys((await failureOf(change())).issues);
    await queryOnce(
      stack.databaseUrl,
      sql`
        update core.merchants set production_payment_options = '{walletz_ussd}', currencies = '{JPY}', largest_amounts = '{"JPY": "1"}',
          refund_role_limits = '{"DEVELOPER": {"JPY": "100"}}' where id = ${uuidOfId(merchantId)}`,
    );

    const { merchant } = await change();

    expect(refused).toHaveLength(4);
    expect(merchant).toMatchObject({ terms, refundPolicy: { approvalLimits } });
  });

  test('with a contact for customers, which its checkout pages show', async () => {
    const contact = { phone: '0911 22 33 44', email: 'help@shop.example' };
    await merchants.updateMerchant({ merchantId, contact });
    const { checkoutUrl } = await orders.registerOrder(registration({ merchantId, orderNumber: 'T-1' }));
    const token = checkoutUrl.split('/').at(-1)!;

    const shown = await stack.client(CheckoutService, 'checkout').getCheckout({ token });
    const renamed = await merchants.updateMerchant({ merchantId, name: 'Other name' });
    const removed = await merchants.updateMerchant({ merchantId, contact: { phone: '8118' } });

    expect(shown.checkout?.merchantContact).toMatchObject(contact);
    expect(renamed.merchant?.contact).toMatchObject(contact);
    expect(removed.merchant?.contact).toMatchObject({ phone: '8118', email: '' });
  });
});

test('a repeat of an order that was registered before a change of the terms is answered as before', async () => {
  const first = await orders.registerOrder(registration({ merchantId }));
  await merchants.updateMerchant({ merchantId, terms: { currencies: ['USD'] } });
  let tries = 0;
  const registerNext = () => orders.registerOrder(registration({ merchantId, orderNumber: `T-${++tries}` }));
  await waitUntil('the terms hold', async () => (await outcomeOf(registerNext())) !== 'done');

  const again = await orders.registerOrder(registration({ merchantId }));

  expect(again).toMatchObject({ repeated: true, checkoutUrl: first.checkoutUrl });
});

test('a direct payment and a checkout accept the allowed options only', async () => {
  const { id } = await withTerms({ sandboxPaymentOptions: ['walletb_ussd'] });
  const direct = orders.startDirectPayment(directPayment({ merchantId: id }));
  expect((await failureOf(direct)).issues).toEqual({
    payment_option: 'must be one of walletb_ussd: no other payment option is enabled for this merchant',
  });

  const { checkoutUrl } = await orders.registerOrder(registration({ merchantId: id }));
  const token = checkoutUrl.slice(checkoutUrl.lastIndexOf('/') + 1);
  const checkouts = stack.client(CheckoutService, 'checkout');
  const { checkout } = await checkouts.getCheckout({ token });
  expect(checkout?.paymentOptions).toEqual(['walletb_ussd']);
  const own = { browserSecret: 'a'.repeat(43), paymentOption: 'walleta_ussd', phone: '0911223344' };
  expect(await wrongFields(checkouts.submitCheckoutPayment({ token, ...own }))).toBe('payment_option');
});

describe('all violated terms are reported at once', () => {
  const terms = {
    sandboxPaymentOptions: ['walletb_ussd'],
    currencies: ['ETB'],
    largestAmounts: [{ currency: 'ETB', amount: '100' }],
  };

  test('by core together with other invalid fields, when it only checks and when it would register', async () => {
    const { id } = await withTerms(terms);
    const wrong = { merchantId: id, amount: '100.01', reason: '' };
    const unread = { merchantId: id, amount: '', currency: 'USD' };
    for (const validateOnly of [true, false]) {
      const fieldsOf = (own: typeof wrong | typeof unread) =>
        wrongFields(orders.registerOrder(registration({ ...own, validateOnly })));
      expect([await fieldsOf(wrong), await fieldsOf(unread)]).toEqual(['amount reason', 'amount currency']);
    }
  });

  test('by core when no field is invalid and it only checks', async () => {
    const { id } = await withTerms(terms);
    const check = (own: object) =>
      orders.startDirectPayment(directPayment({ merchantId: id, ...own, validateOnly: true }));
    await check({ paymentOption: 'walletb_ussd', amount: '100' });
    const both = { paymentOption: 'walleta_ussd', amount: '101' };
    expect(await wrongFields(check(both))).toBe('amount payment_option');
  });
});
