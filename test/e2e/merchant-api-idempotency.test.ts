import { describe, expect, test } from '@jest/globals';
import { sweepExpired } from '../../src/core/database/sweep-expired.ts';
import { openPaymentDesk, outcomes, latestPayment } from '../integration/core/payment-desk.ts';
import { storedId } from '../support/ids.ts';
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
import { openPool, shared } from '../support/shared-stack.ts';
import { postJson } from '../support/post-json.ts';
import { sql } from '../support/sql.ts';

const api = sharedMerchantApi({ cores: 2, facades: 2 });
const desk = shared(() => openPaymentDesk(api.stack));
const shop = sharedShop(api, () => api.newShop({ mayRefund: true }));

let phones = 0;
/** A phone that no other test prompts. */
const newPhone = (): string => `09113${String((phones += 1)).padStart(5, '0')}`;
let keysMade = 0;
/** The longest key. */
const newKey = (): string => `key ${(keysMade += 1)} of "this" \\ test`.padEnd(255, '~');

const register = (body: object): Promise<Answer> => api.post(shop, '/api/v1/register', body);
const pay = (body: object, option = 'walleta_ussd'): Promise<Answer> =>
  api.post(shop, `/api/v1/direct?payment_option=${option}`, body);
const verify = async (orderNumber: string): Promise<unknown> =>
  (await api.post(shop, '/api/v1/verify', { order_number: orderNumber })).json['data'];
const post = (path: string, body: object, key: string, by: Shop = shop): Promise<Answer> =>
  api.post(by, path, body, { headers: { 'idempotency-key': key } });
const registerWith = (body: object, key: string, by?: Shop) => post('/api/v1/register', body, key, by);
const payWith = (body: object, key: string) => post(directPath, body, key);

const paymentOf = (orderNumber: string) => latestPayment(desk, shop.merchantId, orderNumber);
const ends = ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED'] as const;
type End = (typeof ends)[number];

/** Gives the order's latest attempt the outcome that only a wallet can give, and ends the order. */
async function lead(orderNumber: string, end: End, isDirect: boolean): Promise<void> {
  if (end === 'PENDING') return;
  const payment = await paymentOf(orderNumber);
  if (end === 'COMPLETED') await desk.settle(payment, outcomes.completed(`t-${orderNumber}`));
  else if (end === 'FAILED' || !isDirect) await desk.settle(payment, outcomes.declined());
  // No worker has leased the attempt, so it expires with the order. On a hosted order it was declined, and the
  // order expires alone.
  if (end === 'EXPIRED') await desk.endSession(payment);
  if (end === 'FAILED' && !isDirect)
    await desk.query(sql`update core.orders set status = 'FAILED', sweep_at = null
      where id = ${storedId('ord', payment.orderId)}`);
  await waitUntil(`the order is ${end}`, async () => {
    const data = (await verify(orderNumber)) as { status: string };
    return data.status === end;
  });
}

describe('registering again', () => {
  test('with the same values while PENDING returns the same 201 with the same checkout_url, and leaves the order unchanged', async () => {
    const sent = registration();
    const first = await register(sent);
    const before = await verify(sent.order_number);
    const second = await register(sent);
    expect(second.status).toBe(201);
    expect(second.text).toBe(first.text);
    expect(await verify(sent.order_number)).toEqual(before);
  });

  test('under a number that differs in case creates another order', async () => {
    const orderNumber = newOrderNumber();
    await register(registration({ order_number: `${orderNumber}a` }));
    expect((await register(registration({ order_number: `${orderNumber}A`, amount: '7' }))).status).toBe(201);
  });
});

describe('a direct payment on a registered order', () => {
  test('of the same amount and currency pays that order', async () => {
    const sent = registration();
    await register(sent);
    const { status } = await pay(directPayment({ order_number: sent.order_number, phone: '0711223344' }));
    expect(status).toBe(201);
    expect(await verify(sent.order_number)).toMatchObject({
      payment_type: 'API',
      payment_option: 'walleta_ussd',
      status: 'PENDING',
      reason: sent.reason,
      customer_phone: sent.customer_phone,
    });
  });

  test('of another amount gets 400 with a detail on order_number', async () => {
    const sent = registration();
    await register(sent);
    const answer = await pay(directPayment({ order_number: sent.order_number, amount: '7' }));
    expect(answer.status).toBe(400);
    expect(issuesOf(answer)).toEqual({ order_number: expect.any(String) });
    expect(await verify(sent.order_number)).toMatchObject({ payment_option: '' });
  });
});

describe('a request repeated after its answer was lost', () => {
  const attemptsOf = async (orderNumber: string): Promise<number> => {
    const rows = await desk.query(sql`select 1 from core.payment_attempts a
      join core.orders o on o.id = a.order_id where o.order_number = ${orderNumber}`);
    return rows.length;
  };

  test.each(ends)(
    'for a direct payment with the same values, order %s, gets 201 with that payment_status and sends no second prompt',
    async (end) => {
      const sent = directPayment({ phone: newPhone() });
      await pay(sent);
      await lead(sent.order_number, end, true);
      const before = await verify(sent.order_number);

      const repeats = await Promise.all(Array.from({ length: 5 }, () => pay(sent)));

      for (const { status, json } of repeats)
        expect({ status, json }).toEqual({
          status: 201,
          json: { message: expect.any(String), payment_status: end },
        });
      expect(await attemptsOf(sent.order_number)).toBe(1);
      expect(await verify(sent.order_number)).toEqual(before);
    },
  );

  test('for a direct payment with other values gets 400 that names the fields that differ', async () => {
    const sent = directPayment({ phone: newPhone() });
    await pay(sent);
    await lead(sent.order_number, 'COMPLETED', true);

    const answers = [
      await pay({ ...sent, amount: '100.51' }),
      await pay({ ...sent, phone: newPhone() }),
      await pay(sent, 'walletb_ussd'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(answers.map(issuesOf)).toEqual(
      ['amount', 'phone', 'payment_option'].map((field) => ({
        order_number: expect.stringContaining(`another ${field};`),
      })),
    );
    expect(await attemptsOf(sent.order_number)).toBe(1);
  });

  test('for a direct payment on a registered order gets 201 with the payment_status of the order', async () => {
    const { order_number } = registration();
    await register(registration({ order_number }));
    const sent = directPayment({ order_number, phone: newPhone() });
    await pay(sent);
    await lead(order_number, 'EXPIRED', false);

    const repeat = await pay(sent);

    expect(repeat).toMatchObject({ status: 201, json: { payment_status: 'EXPIRED' } });
    expect(await attemptsOf(order_number)).toBe(1);
  });

  test('for a direct payment whose attempt was declined sends no prompt, and one for another phone does', async () => {
    const { order_number } = registration();
    await register(registration({ order_number }));
    const sent = directPayment({ order_number, phone: newPhone() });
    const first = await pay(sent);
    await desk.settle(await paymentOf(order_number), outcomes.declined());

    const repeat = await pay(sent);
    expect(repeat).toMatchObject({ status: 201, json: { payment_status: 'PENDING' } });
    expect(repeat.json['message']).not.toBe(first.json['message']);
    expect(await attemptsOf(order_number)).toBe(1);

    expect((await pay({ ...sent, phone: newPhone() })).status).toBe(201);
    expect(await attemptsOf(order_number)).toBe(2);
  });

  test.each([
    ['a direct order', false, 'FAILED'],
    ['a registered order', true, 'PENDING'],
  ])(
    'for %s whose wallet took another amount says that the money is returned first',
    async (_name, isRegistered, status) => {
      const sent = directPayment({ phone: newPhone() });
      if (isRegistered) await register(registration({ order_number: sent.order_number }));
      await pay(sent);
      const taken = outcomes.completed(`t-${sent.order_number}`, '101.50');
      await desk.settle(await paymentOf(sent.order_number), taken);

      const repeat = await pay(sent);

      expect({ status: repeat.status, json: repeat.json }).toEqual({
        status: 201,
        json: {
          message: expect.stringContaining('do not charge the customer again'),
          payment_status: status,
        },
      });
      expect(await attemptsOf(sent.order_number)).toBe(1);
    },
  );

  test.each(['COMPLETED', 'FAILED'] as const)(
    'for a registration with the same and with other values, order %s, gets the documented answer',
    async (end) => {
      const sent = registration();
      const first = await register(sent);
      await pay(directPayment({ order_number: sent.order_number, phone: newPhone() }));
      await lead(sent.order_number, end, false);

      const same = await register(sent);
      const other = await register({ ...sent, amount: '7', reason: 'Tea' });

      if (end === 'COMPLETED') expect(same).toMatchObject({ status: 201, text: first.text });
      else {
        expect(same.status).toBe(400);
        expect(issuesOf(same)).toEqual({
          order_number: `belongs to an order that is ${end}; use a new order_number`,
        });
      }
      expect(other.status).toBe(400);
      expect(issuesOf(other)).toEqual({
        order_number: expect.stringContaining('another amount and reason;'),
      });
    },
  );
});

const isFirstAgain = (first: Answer, again: Answer): void =>
  expect([again.status, again.text]).toEqual([201, first.text]);

describe('the same request with the same Idempotency-Key gets the first answer', () => {
  test('for a direct payment after the order has ended, also with a quoted key, and at every path of the endpoint', async () => {
    const sent = directPayment({ phone: newPhone() });
    const key = newKey();
    const first = await payWith(sent, key);
    expect(first.json).toMatchObject({ payment_status: 'PENDING' });
    await lead(sent.order_number, 'COMPLETED', true);

    isFirstAgain(first, await payWith(sent, key));
    isFirstAgain(first, await payWith(sent, `"${key.replace(/["\\]/g, String.raw`\$&`)}"`));
    isFirstAgain(first, await post('/payment/v1/direct?payment_option=walleta_ussd', sent, key));
    expect((await api.post(shop, directPath, sent)).json).toMatchObject({ payment_status: 'COMPLETED' });
  });

  test('for a direct payment on a registered order, from the transaction that starts the payment', async () => {
    const hosted = registration();
    await registerWith(hosted, newKey());
    const sent = directPayment({ order_number: hosted.order_number, phone: newPhone() });
    const key = newKey();
    const first = await payWith(sent, key);
    await lead(sent.order_number, 'COMPLETED', true);
    isFirstAgain(first, await payWith(sent, key));
  });

  test('for a registration after the order has failed, when the request without the key gets 400', async () => {
    const sent = registration();
    const key = newKey();
    const first = await registerWith(sent, key);
    await desk.query(sql`
      update core.orders set status = 'FAILED', sweep_at = null where order_number = ${sent.order_number}`);

    isFirstAgain(first, await registerWith(sent, key));
    expect((await api.post(shop, '/api/v1/register', sent)).status).toBe(400);
    expect((await registerWith(sent, newKey())).status).toBe(400);
  });

  test('for a refund that has progressed, and the key of a registration is not the key of a refund', async () => {
    const key = newKey();
    const paid = directPayment({ phone: newPhone() });
    await payWith(paid, key);
    await lead(paid.order_number, 'COMPLETED', true);
    const sent = {
      order_number: paid.order_number,
      refund_number: newOrderNumber(),
      reason: 'Shoes came back',
    };

    const first = await post('/api/v1/refund', sent, key);
    expect(first.status).toBe(201);
    await desk.query(sql`update core.refunds set status = 'REVERSED', due_at = null
      where refund_number = ${sent.refund_number}`);

    isFirstAgain(first, await post('/api/v1/refund', sent, key));
    const without = await api.post(shop, '/api/v1/refund', sent);
    expect((without.json['data'] as { status: string }).status).toBe('COMPLETED');
  });

  test('for a direct payment that was started before without the key', async () => {
    const sent = directPayment({ phone: newPhone() });
    const key = newKey();
    await api.post(shop, directPath, sent);
    const first = await payWith(sent, key);
    await lead(sent.order_number, 'COMPLETED', true);
    isFirstAgain(first, await payWith(sent, key));
  });
});

describe('another request with the same Idempotency-Key', () => {
  test('gets 422 with the name of the header, and has no effect', async () => {
    const key = newKey();
    const sent = registration();
    await registerWith(sent, key);
    const other = { ...sent, order_number: newOrderNumber() };

    for (const answer of [
      await registerWith(other, key),
      await registerWith({ ...sent, reason: 'Other' }, key),
    ]) {
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
    await registerWith(registration(), key);
    expect((await registerWith(registration(), key, await api.newShop())).status).toBe(201);

    const refused = newKey();
    expect((await registerWith(registration({ currency: 'XXX' }), refused)).status).toBe(400);
    expect((await registerWith(registration(), refused)).status).toBe(201);
  });

  test.each([
    ['empty', ''],
    ['too long', 'k'.repeat(256)],
    ['not ASCII', 'clé'],
  ])('a key that is %s gets 400 together with the other problems', async (_name, key) => {
    const answer = await registerWith({ ...registration(), amount: '-1' }, key);
    expect(answer.status).toBe(400);
    expect(Object.keys(issuesOf(answer)).sort()).toEqual(['Idempotency-Key', 'amount']);
    expect((await payWith(directPayment(), key)).status).toBe(400);
  });
});

/** Twenty POSTs at once, alternately at the two facades. A core lets no more requests with one Idempotency-Key wait. */
const twenty = (path: string, bodyOf: (index: number) => object, headers: Record<string, string> = {}) =>
  Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const response = await postJson(`${api.stack.facades[index % 2]!.sandbox}${path}`, bodyOf(index), {
        ...{ apiKey: shop.keys.sandbox, ...headers },
      });
      return { status: response.status, text: await response.text() };
    }),
  );

describe('of twenty concurrent requests at two facades and cores', () => {
  test('with the same Idempotency-Key, one is executed, and all get its answer', async () => {
    const key = newKey();
    const [sent, other] = [directPayment({ phone: newPhone() }), directPayment({ phone: newPhone() })];

    const answers = await twenty(directPath, (index) => (index % 4 < 2 ? sent : other), {
      'idempotency-key': key,
    });

    const texts = Map.groupBy(answers, ({ status }) => status);
    expect([...texts.keys()].sort()).toEqual([201, 422]);
    expect(texts.get(201)).toHaveLength(10);
    expect(new Set(texts.get(201)?.map(({ text }) => text)).size).toBe(1);
    const orders = await desk.query(sql`
      select 1 from core.orders where order_number = any(${[sent.order_number, other.order_number]})`);
    expect(orders).toHaveLength(1);
  });

  test('for one order_number with different amounts, one registers the order, which both facades show', async () => {
    const sent = registration();

    const answers = await twenty('/api/v1/register', (index) => ({ ...sent, amount: `${index + 1}.00` }));

    const registered = answers.flatMap(({ status }, index) => (status === 201 ? [`${index + 1}.00`] : []));
    expect(registered).toHaveLength(1);
    const shown = await twenty('/api/v1/verify', () => ({ order_number: sent.order_number }));
    expect(new Set(shown.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(JSON.parse(shown[0]?.text ?? '')).toMatchObject({ code: 200, data: { amount: registered[0] } });
  });
});

test('an answer is kept for 24 hours, without the checkout URL, and then removed', async () => {
  const key = newKey();
  const sent = registration();
  const { json } = await registerWith(sent, key);
  const token = (json['data'] as { checkout_url: string }).checkout_url.split('/').at(-1) ?? '';
  const [stored] = await desk.query<{ hours: number; answer: Buffer }>(sql`
    select extract(epoch from expires_at - now())::float8 / 3600 as hours, answer from core.idempotency_keys
    where key = ${key}`);
  expect(stored?.hours).toBeGreaterThan(23.9);
  expect(stored?.hours).toBeLessThanOrEqual(24);
  expect(stored?.answer.toString('latin1')).toContain(sent.order_number);
  expect(stored?.answer.toString('latin1')).not.toContain(token);

  const [expired, kept] = [newKey(), newKey()];
  await registerWith(registration(), expired);
  await registerWith(registration(), kept);
  await desk.query(sql`update core.idempotency_keys set expires_at = now() - interval '1 second'
    where key = any(${[key, expired]})`);
  expect((await registerWith(registration(), key)).status).toBe(201);

  const pool = openPool({ connectionString: api.stack.databaseUrl, max: 1 });
  const tables = [{ table: 'idempotency_keys', end: 'expires_at' }];
  await sweepExpired(pool, tables, { aborted: false });
  await pool.end();
  const left = await desk.query<{ key: string }>(sql`
    select key from core.idempotency_keys where key = any(${[key, expired, kept]})`);
  expect(left.map((row) => row.key).sort()).toEqual([key, kept].sort());
});
