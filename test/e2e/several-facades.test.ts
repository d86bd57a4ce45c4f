import { describe, expect, test } from '@jest/globals';
import { waitUntil } from '../support/wait-until.ts';
import { newOrderNumber } from './merchant-api-harness.ts';
import { sharedMerchant, sharedPool, sharedStack } from '../support/shared-stack.ts';

// Two facades that each call both cores. Whichever facade a balancer chooses, the result is the same.

const settings = { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' };
const stack = sharedStack({ cores: 2, facades: 2, wallets: 1, settings });
const merchant = sharedMerchant(stack);
const database = sharedPool(() => stack.databaseUrl, 2);

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends a request, and repeats it after a 500 as a merchant does, because a busy machine can miss a deadline. */
const post = (facade: number, path: string, body: object): Promise<Answer> =>
  waitUntil(`${path} is answered`, async () => {
    const response = await fetch(`${stack.facades[facade % 2]?.sandbox}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', apiKey: merchant.testKey },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    return response.status === 500 ? undefined : { status: response.status, text };
  });

const register = (facade: number, orderNumber: string, amount = '10.00'): Promise<Answer> =>
  post(facade, '/api/v1/register', {
    order_number: orderNumber,
    amount,
    currency: 'ETB',
    reason: 'A test',
    customer_phone: '0911223344',
    return_url: 'https://shop.example/return',
  });

const pay = (facade: number, orderNumber: string, phone: string): Promise<Answer> =>
  post(facade, '/api/v1/direct?payment_option=walleta_ussd', {
    order_number: orderNumber,
    amount: '10.00',
    currency: 'ETB',
    phone,
  });

const verify = (facade: number, orderNumber: string): Promise<Answer> =>
  post(facade, '/api/v1/verify', { order_number: orderNumber });

/** Sends forty requests at once, alternately through the two facades. */
const forty = (make: (n: number) => Promise<Answer>): Promise<Answer[]> =>
  Promise.all(Array.from({ length: 40 }, (_, n) => make(n)));

const statusesOf = (answers: readonly Answer[]): Record<string, number> =>
  Object.fromEntries(
    [...Map.groupBy(answers, ({ status }) => status)].map(([status, group]) => [status, group.length]),
  );

/** The history of an order, and the number of its payments. */
async function storyOf(orderNumber: string): Promise<string> {
  const { rows } = await database.query<{ story: string }>(
    `select concat_ws(' ', o.status, o.last_event_sequence,
       (select string_agg(e.sequence || e.type::text, ' ' order by e.sequence) from core.order_events e
        where e.merchant_id = o.merchant_id and e.order_id = o.id),
       (select string_agg(a.status::text, ' ' order by a.id) from core.payment_attempts a
        where a.merchant_id = o.merchant_id and a.order_id = o.id)) as story
     from core.orders o where o.order_number = $1`,
    [orderNumber],
  );
  return rows.map(({ story }) => story).join(' and ');
}

const declined = '( #PAYMENT_STARTED #PAYMENT_DECLINED)';
/**
 * A direct order ends with its payment. A registered order whose payment was declined can be paid again until its
 * session ends.
 */
const whole = [
  `^COMPLETED # #CREATED${declined}* #PAYMENT_STARTED #COMPLETED( DECLINED)* SUCCEEDED$`,
  '^FAILED # #CREATED #PAYMENT_STARTED #FAILED DECLINED$',
  `^PENDING # #CREATED${declined}+( DECLINED)+$`,
].map((pattern) => new RegExp(pattern.replaceAll('#', '[0-9]+')));

function isWhole(story: string): boolean {
  const [last, ...sequences] = (story.match(/[0-9]+/g) ?? []).map(Number);
  const inOrder = sequences.every((sequence, index) => sequence === index + 1) && sequences.length === last;
  return inOrder && whole.some((pattern) => pattern.test(story));
}

describe('two facades and two cores', () => {
  test('create one order from identical registrations, and return the same checkout_url for each', async () => {
    const orderNumber = newOrderNumber();

    const answers = await forty((n) => register(n, orderNumber));

    expect(statusesOf(answers)).toEqual({ 201: 40 });
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await storyOf(orderNumber)).toBe('PENDING 1 1CREATED');
  });

  test('accept one of many conflicting registrations, and agree which', async () => {
    const orderNumber = newOrderNumber();

    const answers = await forty((n) => register(n, orderNumber, `${n + 1}.00`));

    expect(statusesOf(answers)).toEqual({ 201: 1, 400: 39 });
    const amount = `${answers.findIndex(({ status }) => status === 201) + 1}.00`;
    for (const facade of [0, 1])
      expect(JSON.parse((await verify(facade, orderNumber)).text)).toMatchObject({ data: { amount } });
  });

  test('return an order at the other facade as soon as one has acknowledged it', async () => {
    for (let n = 0; n < 40; n += 1) {
      const orderNumber = newOrderNumber();
      expect((await register(n, orderNumber)).status).toBe(201);
      expect(await verify(n + 1, orderNumber)).toMatchObject({ status: 200 });
    }
  });

  test('charge once for the same payment, however often and at whichever facade it is requested', async () => {
    const orderNumber = newOrderNumber();

    const answers = await forty((n) => pay(n, orderNumber, '251910000010'));

    expect(statusesOf(answers)).toEqual({ 201: 40 });
    await waitUntil('the payment is decided', async () =>
      (await storyOf(orderNumber)).startsWith('COMPLETED'),
    );
    expect(await storyOf(orderNumber)).toBe('COMPLETED 3 1CREATED 2PAYMENT_STARTED 3COMPLETED SUCCEEDED');
    expect((await verify(0, orderNumber)).text).toBe((await verify(1, orderNumber)).text);
  });

  test('keep one complete history of orders that are registered, paid and verified at all facades at once', async () => {
    const orderNumbers = Array.from({ length: 30 }, () => newOrderNumber());

    await Promise.all(
      orderNumbers.flatMap((orderNumber, index) =>
        [0, 1].flatMap((facade) => [
          register(facade, orderNumber),
          // Half of the payers have insufficient funds.
          pay(facade, orderNumber, index % 2 === 0 ? '251910000010' : '251910000001'),
          pay(facade, orderNumber, '251910000010'),
          verify(facade, orderNumber),
        ]),
      ),
    );
    const isOpen = /REQUESTED|SENT|UNKNOWN/;
    const stories = await waitUntil('nothing is under way', async () => {
      const all = await Promise.all(orderNumbers.map(storyOf));
      return all.every((story) => !isOpen.test(story)) && all;
    });

    expect(stories.filter((story) => !isWhole(story))).toEqual([]);
    for (const orderNumber of orderNumbers)
      expect((await verify(0, orderNumber)).text).toBe((await verify(1, orderNumber)).text);
  });
});
