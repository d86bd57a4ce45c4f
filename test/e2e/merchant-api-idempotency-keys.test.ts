import { describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { sweepExpired } from '../../src/core/database/sweep-expired.ts';
import { openPaymentDesk, outcomes, latestPayment } from '../integration/core/payment-desk.ts';
import { waitUntil } from '../support/wait-until.ts';
import {
  directPath,
  directPayment,
  issuesOf,
  newOrderNumber,
  registration,
  sharedMerchantApi,
  sharedShop,
} from './merchant-api-harness.ts';
import type { Answer, Shop } from './merchant-api-harness.ts';
import { shared } from '../support/shared-stack.ts';
import { shopThatRefunds } from './trading-shop.ts';

const api = sharedMerchantApi({ cores: 2, facades: 2 });
const desk = shared(
  () => openPaymentDesk(api.stack),
  (opened) => opened.close(),
);
const shop = sharedShop(api, () => shopThatRefunds(api));

let phones = 0;
const newPhone = (): string => `09116${String((phones += 1)).padStart(5, '0')}`;
let keysMade = 0;
const newKey = (): string => `key ${(keysMade += 1)} of "this" \\ test`;

const post = (path: string, body: object, key: string, by: Shop = shop): Promise<Answer> =>
  api.post(by, path, body, { headers: { 'idempotency-key': key } });
const register = (body: object, key: string, by?: Shop) => post('/api/v1/register', body, key, by);
const pay = (body: object, key: string) => post(directPath, body, key);

const paymentOf = (orderNumber: string) => latestPayment(desk, shop.merchantId, orderNumber);
const complete = async (orderNumber: string): Promise<void> => {
  await desk.settle(await paymentOf(orderNumber), outcomes.completed(`t-${orderNumber}`));
  await waitUntil('the order is paid', async () => {
    const { json } = await api.post(shop, '/api/v1/verify', { order_number: orderNumber });
    return (json['data'] as { status: string }).status === 'COMPLETED';
  });
};
const isFirstAgain = (first: Answer, again: Answer): void =>
  expect([again.status, again.text]).toEqual([201, first.text]);

describe('the same request with the same Idempotency-Key gets the first answer', () => {
  test('for a direct payment after the order has ended, also with a quoted key, and at every path of the endpoint', async () => {
    const sent = directPayment({ phone: newPhone() });
    const key = newKey();
    const first = await pay(sent, key);
    expect(first.json).toMatchObject({ payment_status: 'PENDING' });
    await complete(sent.order_number);

    isFirstAgain(first, await pay(sent, key));
    isFirstAgain(first, await pay(sent, `"${key.replace(/["\\]/g, String.raw`\$&`)}"`));
    isFirstAgain(first, await post('/payment/v1/direct?payment_option=walleta_ussd', sent, key));
    expect((await api.post(shop, directPath, sent)).json).toMatchObject({ payment_status: 'COMPLETED' });
  });

  test('for a direct payment on a registered order, from the transaction that starts the payment', async () => {
    const hosted = registration();
    await register(hosted, newKey());
    const sent = directPayment({ order_number: hosted.order_number, phone: newPhone() });
    const key = newKey();
    const first = await pay(sent, key);
    await complete(sent.order_number);
    isFirstAgain(first, await pay(sent, key));
  });

  test('for a registration after the order has failed, when the request without the key gets 400', async () => {
    const sent = registration();
    const key = newKey();
    const first = await register(sent, key);
    await desk.query(`update core.orders set status = 'FAILED', sweep_at = null where order_number = $1`, [
      sent.order_number,
    ]);

    isFirstAgain(first, await register(sent, key));
    expect((await api.post(shop, '/api/v1/register', sent)).status).toBe(400);
    expect((await register(sent, newKey())).status).toBe(400);
  });

  test('for a refund that has progressed, and the key of a registration is not the key of a refund', async () => {
    const key = newKey();
    const paid = directPayment({ phone: newPhone() });
    await pay(paid, key);
    await complete(paid.order_number);
    const sent = {
      order_number: paid.order_number,
      refund_number: newOrderNumber(),
      reason: 'Shoes came back',
    };

    const first = await post('/api/v1/refund', sent, key);
    expect(first.status).toBe(201);
    await desk.query(`update core.refunds set status = 'REVERSED', due_at = null where refund_number = $1`, [
      sent.refund_number,
    ]);

    isFirstAgain(first, await post('/api/v1/refund', sent, key));
    const without = await api.post(shop, '/api/v1/refund', sent);
    expect((without.json['data'] as { status: string }).status).toBe('COMPLETED');
  });

  test('for a direct payment that was started before without the key', async () => {
    const sent = directPayment({ phone: newPhone() });
    const key = newKey();
    await api.post(shop, directPath, sent);
    const first = await pay(sent, key);
    await complete(sent.order_number);
    isFirstAgain(first, await pay(sent, key));
  });
});

describe('another request with the same Idempotency-Key', () => {
  test('gets 422 with the name of the header, and has no effect', async () => {
    const key = newKey();
    const sent = registration();
    await register(sent, key);
    const other = { ...sent, order_number: newOrderNumber() };

    for (const answer of [await register(other, key), await register({ ...sent, reason: 'Other' }, key)]) {
      expect({ status: answer.status, json: answer.json }).toEqual({
        status: 422,
        json: {
          code: 422,
          message: 'Unprocessable request',
          details: [
            {
              field: 'Idempotency-Key',
              issue: 'was used with another request in the last 24 hours; use a new key for a new request',
            },
          ],
        },
      });
    }
    const order = await api.post(shop, '/api/v1/verify', { order_number: other.order_number });
    expect(order.status).toBe(404);
  });

  test('of another merchant, or after a refusal, is executed', async () => {
    const key = newKey();
    await register(registration(), key);
    expect((await register(registration(), key, await api.newShop())).status).toBe(201);

    const refused = newKey();
    expect((await register(registration({ currency: 'XXX' }), refused)).status).toBe(400);
    expect((await register(registration(), refused)).status).toBe(201);
  });

  test.each([
    ['empty', ''],
    ['too long', 'k'.repeat(256)],
    ['not ASCII', 'clé'],
  ])('a key that is %s gets 400 together with the other problems', async (_name, key) => {
    const answer = await register({ ...registration(), amount: '-1' }, key);
    expect(answer.status).toBe(400);
    expect(Object.keys(issuesOf(answer)).sort()).toEqual(['Idempotency-Key', 'amount']);
    expect((await pay(directPayment(), key)).status).toBe(400);
  });
});

test('one of many concurrent requests with the same key, at two facades and cores, is executed, and all get its answer', async () => {
  const key = newKey();
  const sent = directPayment({ phone: newPhone() });
  const urls = api.stack.facades.map(({ sandbox }) => sandbox);
  const send = async (index: number, body: object) => {
    const response = await fetch(`${urls[index % urls.length]}${directPath}`, {
      method: 'POST',
      headers: { apiKey: shop.keys.sandbox, 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const other = directPayment({ phone: newPhone() });
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => send(index, index % 4 < 2 ? sent : other)),
  );

  const texts = new Map([...Map.groupBy(answers, ({ status }) => status)]);
  expect([...texts.keys()].sort()).toEqual([201, 422]);
  expect(texts.get(201)).toHaveLength(20);
  expect(new Set(texts.get(201)?.map(({ text }) => text)).size).toBe(1);
  const orders = await desk.query('select 1 from core.orders where order_number = any($1)', [
    [sent.order_number, other.order_number],
  ]);
  expect(orders).toHaveLength(1);
});

test('an answer is kept for 24 hours, without the checkout URL, and then removed', async () => {
  const key = newKey();
  const sent = registration();
  const { json } = await register(sent, key);
  const token = (json['data'] as { checkout_url: string }).checkout_url.split('/').at(-1) ?? '';
  const [stored] = await desk.query<{ hours: number; answer: Buffer }>(
    `select extract(epoch from expires_at - now())::float8 / 3600 as hours, answer from core.idempotency_keys where key = $1`,
    [key],
  );
  expect(stored?.hours).toBeGreaterThan(23.9);
  expect(stored?.hours).toBeLessThanOrEqual(24);
  expect(stored?.answer.toString('latin1')).toContain(sent.order_number);
  expect(stored?.answer.toString('latin1')).not.toContain(token);

  const [expired, kept] = [newKey(), newKey()];
  await register(registration(), expired);
  await register(registration(), kept);
  await desk.query(
    `update core.idempotency_keys set expires_at = now() - interval '1 second' where key = any($1)`,
    [[key, expired]],
  );
  expect((await register(registration(), key)).status).toBe(201);

  const pool = new pg.Pool({ connectionString: api.stack.databaseUrl, max: 1 });
  const tables = [{ table: 'idempotency_keys', end: 'expires_at' }];
  await sweepExpired(pool, tables, { aborted: false });
  await pool.end();
  const left = await desk.query<{ key: string }>(
    'select key from core.idempotency_keys where key = any($1)',
    [[key, expired, kept]],
  );
  expect(left.map((row) => row.key).sort()).toEqual([key, kept].sort());
});
