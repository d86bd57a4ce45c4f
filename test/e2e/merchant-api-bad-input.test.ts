import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import {
  directPath,
  directPayment,
  issuesOf,
  newOrderNumber,
  registration,
  startMerchantApi,
} from './merchant-api-harness.ts';
import type { Answer, MerchantApi, Shop } from './merchant-api-harness.ts';

let api: MerchantApi;
let shop: Shop;
beforeAll(async () => {
  api = await startMerchantApi();
  shop = await api.newShop();
});
afterAll(() => api.stop());

/** Each test adds the order numbers that it used. The last test checks that no such order exists. */
const refused: string[] = [];

/** Sends a request that must be refused as a whole, and returns the fields of the refusal. */
async function fieldsRefused(path: string, body: Parameters<MerchantApi['post']>[2]): Promise<string[]> {
  const answer = await api.post(shop, path, body);
  expect(answer.status).toBe(400);
  expect(answer.json).toMatchObject({
    code: 400,
    message: path.startsWith('/api/v1/direct') ? 'Invalid request parameters' : 'Bad request',
  });
  for (const issue of Object.values(issuesOf(answer))) expect(issue).toMatch(/^[a-z].*[^.]$/);
  return Object.keys(issuesOf(answer));
}

/** A registration that would be accepted, written as JSON, with `extra` members before its end. */
function written(extra = ''): string {
  const body = registration();
  refused.push(body.order_number);
  return JSON.stringify(body).slice(0, -1) + extra + '}';
}

const odd = 'a\ud800';

/** One bad value of each field: the parsers' own tests have all of them. */
test.each([
  ['an amount with an exponent', { amount: '1e3' }],
  ['an amount in other digits', { amount: '١٠٠' }],
  ['a currency in small letters', { currency: 'etb' }],
  ['an order number with a NUL', { order_number: 'a\u0000' }],
  ['an order number of 9,000 characters', { order_number: 'x'.repeat(9_000) }],
  ['a phone number that is too short', { customer_phone: '091122334' }],
  ['URLs that are scripts', { return_url: 'javascript:alert(1)', webhook_url: 'javascript:alert(1)' }],
  ['a reason with an escape sequence', { reason: 'a\u001b[2Jb' }],
  ['a business name that is too long', { business_name: 'x'.repeat(129) }],
  [
    'lone surrogates',
    { return_url: odd, webhook_url: odd, amount: odd, currency: odd, reason: odd, customer_phone: odd },
  ],
])('a registration with %s is refused', async (_what, change) => {
  const body = registration(change);
  refused.push(body.order_number);

  expect((await fieldsRefused('/api/v1/register', body)).sort()).toEqual(Object.keys(change).sort());
});

test.each([
  ['an amount of zero', { amount: '0.00' }],
  ['an unknown currency', { currency: 'XXX' }],
  ['an order number with a space', { order_number: 'a b' }],
  ['a phone number of another network', { phone: '0811223344' }],
])('a direct payment with %s is refused', async (_what, change) => {
  const body = directPayment(change);
  refused.push(body.order_number);

  expect(await fieldsRefused(directPath, body)).toEqual(Object.keys(change));
});

test.each([
  ['broken JSON', () => `${written()}}`, 'body'],
  ['a key that is given twice', () => written(',"amount":"1"'), 'amount'],
  ['__proto__', () => written(',"__proto__":{"webhook_url":"https://a.example"}'), 'body'],
  ['1 MB', () => written(`,"x":"${'x'.repeat(1_000_000)}"`), 'body'],
  [
    'bytes that are not UTF-8',
    () => new Uint8Array(Buffer.from(written().replace('Three', '\u00ff\u00fe'), 'latin1')),
    'body',
  ],
])('a body with %s is refused', async (_name, body, field) => {
  expect(await fieldsRefused('/api/v1/register', body())).toEqual([field]);
});

test('all invalid fields are reported at once', async () => {
  const body = `{"amount":"1","amount":1,"__proto__":{},"order_number":7,"currency":"etb","phone":"\\ud800"}`;
  const answer: Answer = await api.post(shop, '/api/v1/direct?payment_option=cash', body);
  expect(answer.status).toBe(400);
  expect(issuesOf(answer)).toEqual({
    payment_option: 'must be one of walleta_ussd, walletb_ussd',
    amount: 'must be given only once',
    currency: 'must be one of ETB, USD',
    order_number: 'must be a string',
    phone: 'must be well-formed Unicode, without lone surrogates',
    body: 'must not contain the key __proto__',
  });
});

test.each(['', 'x', `svc_test_${'A'.repeat(50)}`, 'x'.repeat(5_000), 'svc_test_é'])(
  'the key %j gets 401',
  async (apiKey) => {
    const { status, json } = await api.post(shop, '/api/v1/register', written(), { apiKey });
    expect({ status, json }).toEqual({
      status: 401,
      json: {
        code: 401,
        message: 'Unauthorized',
        details: [{ field: 'apiKey', issue: expect.any(String) }],
      },
    });
  },
);

test('the right key in another case, or twice in one header, gets 401, and HTTP strips spaces around it', async () => {
  const secret = shop.keys.sandbox;
  for (const apiKey of [secret.toUpperCase(), `${secret}, ${secret}`])
    expect((await api.post(shop, '/api/v1/register', written(), { apiKey })).status).toBe(401);
  const body = { order_number: newOrderNumber() };
  expect((await api.post(shop, '/api/v1/verify', body, { apiKey: ` ${secret} ` })).status).toBe(404);
});

test('an unexpected query string has no effect', async () => {
  const sent = registration();
  const { status } = await api.post(shop, '/api/v1/register?amount=1&order_number=x&__proto__=1', sent);
  expect(status).toBe(201);
  expect((await api.post(shop, '/api/v1/verify?order_number=x', sent)).status).toBe(200);
});

test('the refused requests have left no trace: the only order is the accepted one', async () => {
  expect(refused.length).toBeGreaterThan(20);
  for (const orderNumber of refused) {
    const { status } = await api.post(shop, '/api/v1/verify', { order_number: orderNumber });
    expect([orderNumber, [400, 404]]).toEqual([orderNumber, expect.arrayContaining([status])]);
  }
  const database = new pg.Client({ connectionString: api.stack.databaseUrl });
  await database.connect();
  const { rows } = await database.query(`
    select (select count(*)::int from core.orders) as orders,
           (select count(*)::int from core.order_events) as events,
           (select count(*)::int from core.payment_attempts) as attempts`);
  await database.end();
  expect(rows).toEqual([{ orders: 1, events: 1, attempts: 0 }]);
});
