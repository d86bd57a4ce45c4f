import { describe, expect, test } from '@jest/globals';
import { storedId } from '../support/ids.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openPaymentDesk, outcomes, latestPayment } from '../integration/core/payment-desk.ts';
import {
  directPayment,
  issuesOf,
  newOrderNumber,
  registration,
  sharedMerchantApi,
  sharedShop,
} from './merchant-api-harness.ts';
import type { Answer } from './merchant-api-harness.ts';
import { shared } from '../support/shared-stack.ts';

let phones = 0;
/** A phone that no other test prompts. */
const newPhone = (): string => `09113${String((phones += 1)).padStart(5, '0')}`;

const api = sharedMerchantApi();
const shop = sharedShop(api);

const register = (body: object): Promise<Answer> => api.post(shop, '/api/v1/register', body);
const pay = (body: object, option = 'walleta_ussd'): Promise<Answer> =>
  api.post(shop, `/api/v1/direct?payment_option=${option}`, body);
const verify = async (orderNumber: string): Promise<unknown> =>
  (await api.post(shop, '/api/v1/verify', { order_number: orderNumber })).json['data'];

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
  const desk = shared(
    () => openPaymentDesk(api.stack),
    (opened) => opened.close(),
  );

  const ends = ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED'] as const;
  type End = (typeof ends)[number];

  const paymentOf = (orderNumber: string) => latestPayment(desk, shop.merchantId, orderNumber);

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
      await desk.query(`update core.orders set status = 'FAILED', sweep_at = null where id = $1`, [
        storedId('ord', payment.orderId),
      ]);
    await waitUntil(`the order is ${end}`, async () => {
      const data = (await verify(orderNumber)) as { status: string };
      return data.status === end;
    });
  }

  const attemptsOf = async (orderNumber: string): Promise<number> => {
    const rows = await desk.query(
      'select 1 from core.payment_attempts a join core.orders o on o.id = a.order_id where o.order_number = $1',
      [orderNumber],
    );
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
