import { describe, expect, test } from '@jest/globals';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { openCheckoutOrders } from '../../support/checkout-orders.ts';
import { createCustomer, headingOf, payment } from '../../support/customer.ts';
import type { Customer } from '../../support/customer.ts';
import { shared, sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCore } from '../../support/simulated-wallets.ts';
import { waitUntil } from '../../support/wait-until.ts';

const stack = sharedStack({
  facades: 0,
  checkouts: 1,
  settings: { GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: '2', GATEHOUSE_WALLETS: withForeignWalletB() },
});
const orders = shared(() => openCheckoutOrders(stack));

/** The wallets of tests. Subscribers of Wallet B are in another country. */
function withForeignWalletB(): string {
  const { wallets } = JSON.parse(walletsOfCore()) as { wallets: readonly { readonly id: string }[] };
  return JSON.stringify({
    wallets: wallets.map((wallet) =>
      wallet.id === 'walletb' ? { ...wallet, phone_prefixes: ['+2547'] } : wallet,
    ),
  });
}

let phones = 0;
/** A phone that was not prompted yet. */
const anotherPhone = (): string => `09${String(++phones).padStart(8, '0')}`;

async function atThePage(url: string): Promise<Customer> {
  const customer = createCustomer();
  await customer.get(url);
  return customer;
}

describe("a form is accepted from the checkout's own pages only:", () => {
  test('it is refused from another site', async () => {
    const order = await orders.register();
    const before = await orders.rows(order);
    const customer = await atThePage(order.url);
    const headers = { 'sec-fetch-site': 'cross-site' };

    const paid = await customer.post(order.url, payment, headers);
    const cancelled = await customer.post(`${order.url}/cancel`, {}, headers);

    expect([paid.status, cancelled.status]).toEqual([403, 403]);
    expect(headingOf(paid)).toBe('This request did not come from our page');
    expect(await orders.rows(order)).toEqual(before);
  });

  test('it is accepted without an origin only with the cookie of our page', async () => {
    const order = await orders.register();
    const customer = await atThePage(order.url);
    const sent = { ...payment, phone: anotherPhone() };

    const without = await createCustomer().post(order.url, sent, { origin: 'null' });
    const withCookie = await customer.post(order.url, sent, { origin: 'null' });

    expect([without.status, withCookie.status]).toEqual([403, 303]);
  });

  test('it is accepted from our page by its origin', async () => {
    const order = await orders.register();
    const { origin } = new URL(order.url);

    const { status } = await createCustomer().post(
      order.url,
      { ...payment, phone: anotherPhone() },
      { origin },
    );

    expect(status).toBe(303);
  });
});

describe('a mistake in a form is shown beside it, and no payment starts:', () => {
  test.each([
    ['no wallet', { phone: '0911223344' }, 'Choose how you want to pay.'],
    [
      'a wallet that does not exist',
      { ...payment, payment_option: 'paypal' },
      'This way to pay is not available right now.',
    ],
    ['no phone', { ...payment, phone: '  ' }, 'Enter the mobile number your wallet is registered with.'],
    [
      'letters for a number',
      { ...payment, phone: '"><script>alert(1)</script>' },
      'This does not look like a mobile number.',
    ],
    [
      'a number of another country without its country code',
      { payment_option: 'walletb_ussd', phone: '0712 345 678' },
      'Enter the mobile number with its country code: +2547…',
    ],
  ])('%s', async (_name, fields, message) => {
    const order = await orders.register();
    const customer = await atThePage(order.url);

    const answer = await customer.post(order.url, fields);

    expect(answer.status).toBe(422);
    expect(answer.body).toContain('<title>Error: ');
    expect(answer.body).toContain(message);
    expect(answer.body).not.toContain('<script>alert');
    expect(await orders.attempts(order)).toEqual([]);
  });

  test('the page says how a number begins if the only wallet is in another country', async () => {
    const order = await orders.register();
    const customer = await atThePage(order.url);
    const choice = { merchantId: order.merchantId, environment: Environment.SANDBOX, on: false };
    await stack
      .client(MerchantWalletService, 'dashboard')
      .switchMerchantWallet({ ...choice, wallet: 'walleta' });

    await waitUntil('the page says it', async () =>
      (await customer.get(order.url)).body.includes(
        'The number of your wallet with its country code: +2547…',
      ),
    );
    const { status } = await customer.post(order.url, {
      payment_option: 'walletb_ussd',
      phone: '00254 712 345 678',
    });
    expect([status, await orders.attempts(order)]).toMatchObject([303, [{ phone: '+254712345678' }]]);
  });

  test('unless no wallet can take the payment any more, so that there is nothing to correct', async () => {
    const order = await orders.register();
    const customer = await atThePage(order.url);
    const choice = { merchantId: order.merchantId, environment: Environment.SANDBOX, on: false };
    for (const wallet of ['walleta', 'walletb'])
      await stack.client(MerchantWalletService, 'dashboard').switchMerchantWallet({ ...choice, wallet });
    await waitUntil('no wallet is offered', async () =>
      (await customer.get(order.url)).body.includes('No wallet can take this payment'),
    );

    const { status, body } = await customer.post(order.url, payment);

    expect(status).toBe(422);
    expect(body).toContain('No wallet can take this payment');
    expect(body).not.toContain('role="alert"');
  });

  test('the page keeps the choices', async () => {
    const order = await orders.register();
    const customer = await atThePage(order.url);

    const { body } = await customer.post(order.url, { payment_option: 'walletb_ussd', phone: '123' });

    expect(body).toMatch(/value="walletb_ussd"\s+required\s+checked/);
    expect(body).toMatch(/id="phone"[^>]*value="123"/);
  });

  test('a phone number may be typed with separators', async () => {
    const order = await orders.register();
    const customer = await atThePage(order.url);
    const phone = anotherPhone().replace(/^(\d{4})(\d\d)/, '$1 $2-');

    await customer.post(order.url, { ...payment, phone });

    expect(await orders.attempts(order)).toHaveLength(1);
  });
});

describe('a malformed form', () => {
  test.each([
    ['JSON', 'application/json', '{"payment_option":"walleta_ussd","phone":"0911223344"}'],
    ['plain text', 'text/plain', 'payment_option=walleta_ussd&phone=0911223344'],
    ['a form of 5 KiB', 'application/x-www-form-urlencoded', `phone=${'1'.repeat(5_000)}`],
    ['a body without a content type', '', 'phone=0911223344'],
  ])('%s is refused with a page, and starts nothing', async (_name, type, body) => {
    const order = await orders.register();

    const response = await fetch(order.url, {
      method: 'POST',
      body: new TextEncoder().encode(body),
      headers: { 'sec-fetch-site': 'same-origin', ...(type === '' ? {} : { 'content-type': type }) },
    });

    expect(response.status).toBe(400);
    expect(await response.text()).toContain('We could not read that');
    expect(await orders.attempts(order)).toEqual([]);
  });

  test('a field that is sent twice counts once', async () => {
    const order = await orders.register();
    const customer = await atThePage(order.url);
    const phone = anotherPhone();

    const response = await fetch(order.url, {
      method: 'POST',
      redirect: 'manual',
      body: `payment_option=walleta_ussd&phone=${phone}&phone=0999999999&payment_option=walletb_ussd`,
      headers: {
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
        cookie: [...customer.cookies].map((pair) => pair.join('=')).join('; '),
      },
    });

    expect(response.status).toBe(303);
    expect(await orders.attempts(order)).toMatchObject([{ phone: `+251${phone.slice(1)}` }]);
  });
});

test('a phone that was prompted too often is not prompted, and the page says for how long', async () => {
  const phone = '0944556677';
  // Pages of two shops, from one network. The second prompt follows the first at once.
  const asked = await orders.register({ environment: Environment.PRODUCTION });
  expect((await createCustomer().post(asked.url, { ...payment, phone })).status).toBe(303);
  await orders.settle(asked, { attempt: 'TIMED_OUT' });
  const order = await orders.register({ environment: Environment.PRODUCTION });

  const refused = await (await atThePage(order.url)).post(order.url, { ...payment, phone });

  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused.body).toContain('This phone was asked too often');
  expect(refused.body).toMatch(/Try again in \d+ (minutes?|seconds?), or use another number/);
  expect(await orders.attempts(order)).toEqual([]);
});

test('a phone with an unconfirmed payment gets no second prompt, and the page tells the customer why', async () => {
  const phone = '0944556688';
  const [first, second] = await Promise.all([
    orders.register({ environment: Environment.PRODUCTION }),
    orders.register({ environment: Environment.PRODUCTION }),
  ]);
  await createCustomer().post(first.url, { ...payment, phone });

  const refused = await (await atThePage(second.url)).post(second.url, { ...payment, phone });

  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(180);
  expect(refused.body).toContain('This phone has another payment to confirm');
  expect(await orders.attempts(second)).toEqual([]);
});

test('the log contains masked phones, and neither tokens nor secrets', async () => {
  const order = await orders.register();
  const customer = await atThePage(order.url);
  await customer.post(order.url, { ...payment, phone: '0955667788' });
  await customer.get(`${stack.checkouts[0]!.origin}/c/${order.token}/no/such/page`);

  const log = JSON.stringify(stack.checkouts[0]!.process.log);

  expect(log).toContain(order.orderId);
  expect(log).toContain('0955667788'.slice(0, 5) + '**' + '788');
  expect(log).not.toContain('0955667788');
  expect(log).not.toContain(order.token);
  expect(log).not.toContain(customer.cookies.get('gatehouse_checkout'));
});
