import { describe, expect, test } from '@jest/globals';
import { openCheckoutOrders } from '../../support/checkout-orders.ts';
import { createCustomer, headingOf, payment } from '../../support/customer.ts';
import { shared, sharedStack } from '../../support/shared-stack.ts';

const stack = sharedStack({ cores: 2, facades: 0, checkouts: 1 });
const orders = shared(() => openCheckoutOrders(stack));

describe('looking at a checkout', () => {
  test('from a link preview binds it to no browser', async () => {
    const order = await orders.register();
    await createCustomer().get(order.url, { 'user-agent': 'LinkPreview/1.0', purpose: 'prefetch' });

    const customer = createCustomer();
    await customer.get(order.url);

    expect((await customer.post(order.url, payment)).status).toBe(303);
  });

  test('with a GET of the address of a form is not found, and cancels nothing', async () => {
    const order = await orders.register();
    const before = await orders.rows(order);

    expect((await createCustomer().get(`${order.url}/cancel`)).status).toBe(404);
    expect(await orders.rows(order)).toEqual(before);
  });
});

describe('submitting', () => {
  test('20 times at once from one page starts one payment, which every answer leads to', async () => {
    const order = await orders.register();
    const customer = createCustomer();
    await customer.get(order.url);

    const answers = await Promise.all(Array.from({ length: 20 }, () => customer.post(order.url, payment)));

    expect(answers.map(({ status, headers }) => [status, headers.get('location')])).toEqual(
      Array.from({ length: 20 }, () => [303, new URL(order.url).pathname]),
    );
    expect(await orders.attempts(order)).toHaveLength(1);
    expect(headingOf(await customer.get(order.url))).toBe('Confirm on your phone');
  });

  test('in two tabs with two phones starts the first, shows it in both, and says so in the second', async () => {
    const order = await orders.register();
    const customer = createCustomer();
    await customer.get(order.url);
    await customer.post(order.url, payment);

    const second = await customer.post(order.url, { ...payment, phone: '0722334455' });

    expect(second.status).toBe(409);
    expect(second.body).toContain('No second payment was started.');
    for (const { body } of [second, await customer.get(order.url)])
      expect(body).toContain('0911\u00a022\u00a033\u00a044');
    expect(await orders.attempts(order)).toMatchObject([{ phone: '+251911223344' }]);
  });

  test('without opening the page first starts the payment, and gives the browser its secret', async () => {
    const order = await orders.register();
    const customer = createCustomer();

    expect((await customer.post(order.url, payment)).status).toBe(303);
    expect(headingOf(await customer.get(order.url))).toBe('Confirm on your phone');
  });
});

describe('another browser', () => {
  test('sees that the payment is open elsewhere, and no details of it', async () => {
    const order = await orders.register();
    await createCustomer().post(order.url, payment);

    const page = await createCustomer().get(order.url);

    expect(page.status).toBe(409);
    expect(headingOf(page)).toBe('Already open in another browser');
    expect(page.body).toContain('href="https://shop.example/return"');
    expect(page.body).not.toMatch(/911223344|0911\u00a022|100\.50|Two pairs/);
    expect(page.body).not.toContain('<form');
  });

  test.each([
    ['none', ''],
    ['a made-up secret', 'b'.repeat(43)],
    ['a malformed one', '%00"\'><script>'],
  ])('with %s as its secret can neither pay nor cancel', async (_name, secret) => {
    const order = await orders.register();
    await createCustomer().post(order.url, payment);
    await orders.settle(order, { attempt: 'DECLINED' });
    const before = await orders.rows(order);
    const stranger = createCustomer();
    if (secret !== '') stranger.cookies.set('gatehouse_checkout', secret);

    const paid = await stranger.post(order.url, payment);
    await stranger.post(`${order.url}/cancel`);

    expect(paid.status).toBe(409);
    expect(await orders.rows(order)).toEqual(before);
  });

  test('sees the outcome when the payment has ended', async () => {
    const order = await orders.register();
    await createCustomer().post(order.url, payment);
    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

    const page = await createCustomer().get(order.url);

    expect([page.status, headingOf(page)]).toEqual([200, 'Payment received']);
    expect(page.body).not.toContain('<form');
  });
});

describe("the browser's secret", () => {
  test('is 32 random bytes that scripts and other sites never see', async () => {
    const order = await orders.register();

    const [cookie] = (await createCustomer().get(order.url)).headers.getSetCookie();

    expect(cookie).toMatch(
      /^gatehouse_checkout=[A-Za-z0-9_-]{43}; Max-Age=2678400; Path=\/; HttpOnly; SameSite=Lax$/,
    );
  });

  test('stays the same, and is kept for 31 days after each page and payment, longer than a payment link', async () => {
    const order = await orders.register();
    const customer = createCustomer();
    await customer.get(order.url);
    const secret = customer.cookies.get('gatehouse_checkout') ?? '';

    const again = await customer.get(order.url);
    const submitted = await customer.post(order.url, payment);

    for (const { headers } of [again, submitted])
      expect(headers.getSetCookie().filter((line) => line.startsWith('gatehouse_checkout='))).toEqual([
        `gatehouse_checkout=${secret}; Max-Age=2678400; Path=/; HttpOnly; SameSite=Lax`,
      ]);
  });
});

describe('cancelling', () => {
  test('ends the order, and repeating it has no further effect', async () => {
    const order = await orders.register();
    const customer = createCustomer();
    await customer.get(order.url);

    const answers = [await customer.post(`${order.url}/cancel`), await customer.post(`${order.url}/cancel`)];

    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    expect(headingOf(await customer.get(order.url))).toBe('Payment cancelled');
    expect(await orders.rows(order)).toMatchObject({ orders: [{ status: 'FAILED' }] });
  });

  test('while a wallet has the request changes nothing, and the page says why', async () => {
    const order = await orders.register();
    const customer = createCustomer();
    await customer.post(order.url, payment);
    await orders.settle(order, { attempt: 'SENT' });

    const refused = await customer.post(`${order.url}/cancel`);

    expect([refused.status, headingOf(refused)]).toEqual([409, 'Confirm on your phone']);
    expect(refused.body).toContain('It is too late to cancel here');
    expect(refused.body).not.toContain('<form');
    expect(await orders.rows(order)).toMatchObject({ orders: [{ status: 'PENDING' }] });
  });
});
