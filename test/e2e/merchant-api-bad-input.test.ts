import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
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

/** Every test leaves the order numbers it used here; the last one sees that none of them has become an order. */
const refused: string[] = [];

/** Sends a request that must be refused as a whole, and gives the fields it was refused for. */
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

async function registerRefused(change: Readonly<Record<string, unknown>>): Promise<string[]> {
  const body = registration(change);
  if (typeof body.order_number === 'string') refused.push(body.order_number);
  return fieldsRefused('/api/v1/register', body);
}

async function directRefused(change: Readonly<Record<string, unknown>>): Promise<string[]> {
  const body = directPayment(change);
  if (typeof body.order_number === 'string') refused.push(body.order_number);
  return fieldsRefused(directPath, body);
}

describe('amounts', () => {
  test.each([
    '0',
    '0.00',
    '-1',
    '+1',
    '1e3',
    '1E3',
    '0x10',
    '01',
    '00',
    '1.',
    '.5',
    '1,000',
    '1 000',
    ' 1',
    '1 ',
    '1.001',
    '1.0000000000000000000000000001',
    '1..0',
    '1.0.0',
    '1000000000000',
    '9'.repeat(1000),
    '١٠٠',
    '１００',
    'NaN',
    'Infinity',
    'abc',
    '1\n',
    '1\u0000',
    '',
  ])('%j is refused', async (amount) => {
    expect(await registerRefused({ amount })).toEqual(['amount']);
    expect(await directRefused({ amount })).toEqual(['amount']);
  });
});

describe('currencies', () => {
  test.each(['etb', 'XXX', 'EUR', 'ET', 'ETBB', ' ETB', 'ETB\u0000', 'ＥＴＢ', '230'])(
    '%j is refused',
    async (currency) => {
      expect(await registerRefused({ currency })).toEqual(['currency']);
      expect(await directRefused({ currency })).toEqual(['currency']);
    },
  );
});

describe('order numbers', () => {
  test.each([
    'a b',
    ' a',
    'a\n',
    'a\tb',
    'a\u0000',
    'a\u007f',
    'é',
    'ኢ',
    '١',
    '\u200b',
    'x'.repeat(65),
    'x'.repeat(9_000),
  ])('%j is refused', async (orderNumber) => {
    expect(await fieldsRefused('/api/v1/register', registration({ order_number: orderNumber }))).toEqual([
      'order_number',
    ]);
    expect(await fieldsRefused(directPath, directPayment({ order_number: orderNumber }))).toEqual([
      'order_number',
    ]);
    expect(await fieldsRefused('/api/v1/verify', { order_number: orderNumber })).toEqual(['order_number']);
  });
});

describe('phone numbers', () => {
  test.each([
    '0',
    '091122334',
    '09112233445',
    '0811223344',
    '+2518112233',
    'phone',
    '+',
    '0911 223344',
    '+0911223344',
    '٠٩١١٢٢٣٣٤٤',
    '0911223344\u0000',
  ])('%j is refused', async (phone) => {
    expect(await registerRefused({ customer_phone: phone })).toEqual(['customer_phone']);
    expect(await directRefused({ phone })).toEqual(['phone']);
  });
});

describe('URLs', () => {
  test.each([
    'shop.example',
    '/thanks',
    '//shop.example',
    'javascript:alert(1)',
    'JAVASCRIPT:alert(1)',
    'data:text/html,hi',
    'ftp://shop.example',
    'file:///etc/passwd',
    'https://',
    'https:///thanks',
    'https://?a=1',
    'https://user@shop.example',
    'https://user:password@shop.example',
    'https://shop.example:99999',
    'https://shop.example/a b',
    'https://shop.example/\n',
    ' https://shop.example',
    'https://shop.example\\@evil.example',
    'https://shop.example/\u0000',
    'https://ሱቅ.example',
    `https://shop.example/${'x'.repeat(2048)}`,
  ])('%j is refused', async (url) => {
    expect(await registerRefused({ return_url: url, webhook_url: url })).toEqual([
      'return_url',
      'webhook_url',
    ]);
  });
});

describe('texts', () => {
  test.each([
    ['NUL', 'a\u0000b'],
    ['a line break', 'a\nb'],
    ['an escape sequence', 'a\u001b[2Jb'],
    ['DEL', 'a\u007fb'],
    ['a C1 control character', 'a\u0085b'],
    ['a lone high surrogate', 'a\ud800'],
    ['a lone low surrogate', '\udc00b'],
    ['one character too many', 'x'.repeat(256)],
    ['nothing but spaces', '   '],
  ])('a reason with %s is refused', async (_name, reason) => {
    expect(await registerRefused({ reason })).toEqual(['reason']);
  });

  test.each([
    ['NUL', 'a\u0000b'],
    ['a lone surrogate', 'a\ud800'],
    ['one character too many', 'x'.repeat(129)],
  ])('a business_name with %s is refused', async (_name, business_name) => {
    expect(await registerRefused({ business_name })).toEqual(['business_name']);
  });

  test('lone surrogates are refused in every field', async () => {
    const odd = 'a\ud800';
    const change = { return_url: odd, webhook_url: odd, amount: odd, currency: odd, customer_phone: odd };
    expect(await registerRefused(change)).toEqual(Object.keys(change));
    expect(await fieldsRefused('/api/v1/verify', { order_number: odd })).toEqual(['order_number']);
  });
});

describe('bodies', () => {
  /** A registration that would be accepted, written as JSON, with `extra` members before its end. */
  function written(extra = ''): string {
    const body = registration();
    refused.push(body.order_number);
    return JSON.stringify(body).slice(0, -1) + extra + '}';
  }
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

  test.each([
    ['an array', () => `[${written()}]`, 'body'],
    ['null', () => 'null', 'body'],
    ['a string', () => JSON.stringify(written()), 'body'],
    ['a number', () => '1', 'body'],
    ['broken JSON', () => `${written()}}`, 'body'],
    ['JSON with a trailing comma', () => written(','), 'body'],
    ['JSON with a comment', () => written('/* */'), 'body'],
    ['truncated JSON', () => written().slice(0, -2), 'body'],
    ['a form', () => 'order_number=1&amount=1', 'body'],
    ['a byte order mark', () => `\ufeff${written()}`, 'body'],
    ['a key that is given twice', () => written(',"amount":"1"'), 'amount'],
    ['a key that is given twice, once escaped', () => written(',"\\u0061mount":"1"'), 'amount'],
    ['a key that is given twice in an unknown field', () => written(',"x":[{"a":1,"a":1}]'), 'body'],
    ['__proto__', () => written(',"__proto__":{"webhook_url":"https://a.example"}'), 'body'],
    ['__proto__ further down', () => written(',"x":{"__proto__":1}'), 'body'],
    ['deep nesting', () => written(`,"x":${deep(17)}`), 'body'],
    ['very deep nesting', () => written(`,"x":${deep(15_000)}`), 'body'],
    ['1 MB', () => written(`,"x":"${'x'.repeat(1_000_000)}"`), 'body'],
  ])('%s is refused', async (_name, body, field) => {
    expect(await fieldsRefused('/api/v1/register', body())).toEqual([field]);
  });

  test('bytes that are not UTF-8 are refused', async () => {
    const body = Buffer.from(written().replace('Three', '\u00ff\u00fe'), 'latin1');
    expect(await fieldsRefused('/api/v1/register', new Uint8Array(body))).toEqual(['body']);
  });

  test('everything that is wrong is said at once', async () => {
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

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/json; charset=utf-16',
  ])('the content type %s is refused', async (type) => {
    const answer = await api.post(shop, '/api/v1/register', written(), { headers: { 'content-type': type } });
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual({ 'Content-Type': 'must be application/json' });
  });
});

describe('what is refused before the body is looked at', () => {
  const sent = (): ReturnType<typeof registration> => {
    const body = registration();
    refused.push(body.order_number);
    return body;
  };

  test.each([
    '/api/v1/register/',
    '/api/v1/Register',
    '/api/v1//register',
    '/api/v1/register/x',
    '/register',
  ])('POST %s is 404', async (path) => {
    expect((await api.post(shop, path, sent())).json).toEqual({ code: 404, message: 'Not found' });
  });

  test.each(['', 'x', 'svc_test_', 'svc_test_' + 'A'.repeat(50), 'x'.repeat(5_000), 'svc_test_é'])(
    'the key %j is 401',
    async (apiKey) => {
      expect((await api.post(shop, '/api/v1/register', sent(), { apiKey })).json).toEqual({
        code: 401,
        message: 'Unauthorized',
      });
    },
  );

  test('the right key with a space in front or behind is the right key: HTTP strips them', async () => {
    const body = { order_number: newOrderNumber() };
    expect((await api.post(shop, '/api/v1/verify', body, { apiKey: ` ${shop.keys.sandbox} ` })).status).toBe(
      404,
    );
  });

  test('the right key in another case is 401', async () => {
    const apiKey = shop.keys.sandbox.toUpperCase();
    expect((await api.post(shop, '/api/v1/register', sent(), { apiKey })).status).toBe(401);
  });

  test('two keys in one header are 401', async () => {
    const secret = shop.keys.sandbox;
    expect(
      (await api.post(shop, '/api/v1/register', sent(), { apiKey: `${secret}, ${secret}` })).status,
    ).toBe(401);
  });
});

test('query strings change nothing where none is expected', async () => {
  const sent = registration();
  const { status } = await api.post(shop, '/api/v1/register?amount=1&order_number=x&__proto__=1', sent);
  expect(status).toBe(201);
  expect((await api.post(shop, '/api/v1/verify?order_number=x', sent)).status).toBe(200);
});

test('nothing that was refused above has left a trace: the one order there is, is the one above', async () => {
  expect(refused.length).toBeGreaterThan(100);
  for (const orderNumber of refused) {
    const { status } = await api.post(shop, '/api/v1/verify', { order_number: orderNumber });
    expect({ orderNumber, status }).toEqual({ orderNumber, status: 404 });
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
