import { describe, expect, test } from '@jest/globals';
import { toString as qrCodeOf } from 'qrcode';
import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { openCheckoutOrders } from '../../support/checkout-orders.ts';
import type { CheckoutOrder, OwnOrder, Settlement } from '../../support/checkout-orders.ts';
import { createCustomer, headingOf, payment } from '../../support/customer.ts';
import type { Customer, PageAnswer } from '../../support/customer.ts';
import { shared, sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCoreWithPaybill, withPageWallet } from '../../support/simulated-wallets.ts';

const settings = { GATEHOUSE_WALLETS: withPageWallet(walletsOfCoreWithPaybill('174379')) };
const stack = sharedStack({ facades: 0, checkouts: 1, settings });
const orders = shared(() => openCheckoutOrders(stack));

const shopsUrl = 'https://shop.example/return?order=1&x=%2F&y=a+b#done';

/** A checkout whose payment has this outcome. */
async function after(
  settlement: Settlement | undefined,
  own: OwnOrder = {},
): Promise<{ order: CheckoutOrder; customer: Customer }> {
  const order = await orders.register({ returnUrl: shopsUrl, ...own });
  const customer = createCustomer();
  await customer.post(order.url, payment);
  if (settlement !== undefined) await orders.settle(order, settlement);
  return { order, customer };
}

describe('the page shows the state of the payment:', () => {
  test.each<[string, Settlement | undefined, string, string]>([
    ['requested just now', undefined, 'Confirm on your phone', 'ስልክዎ ላይ ያረጋግጡ'],
    ['paid', { attempt: 'SUCCEEDED', order: 'COMPLETED' }, 'Payment received', 'ክፍያው ተፈጽሟል'],
    [
      'expired without a confirmation',
      { attempt: 'TIMED_OUT', order: 'EXPIRED' },
      'The time to pay has run out',
      'የመክፈያው ጊዜ አልፏል',
    ],
    [
      'cancelled after a declined payment',
      { attempt: 'DECLINED', order: 'FAILED' },
      'Payment cancelled',
      'ክፍያው ተሰርዟል',
    ],
  ])('%s', async (_name, settlement, english, amharic) => {
    const { order, customer } = await after(settlement);

    const [en, am] = [
      await customer.get(order.url, { 'accept-language': 'en' }),
      await customer.get(order.url, { 'accept-language': 'am-ET,am;q=0.9,en;q=0.5' }),
    ];

    expect([en.status, headingOf(en)]).toEqual([200, english]);
    expect([am.status, headingOf(am)]).toEqual([200, amharic]);
  });

  test('requested at a wallet with a page of its own, which has not answered yet', async () => {
    const order = await orders.register();
    const customer = createCustomer();
    await customer.post(order.url, { ...payment, payment_option: 'telebirr_wallet' });

    const page = await customer.get(order.url);

    expect(headingOf(page)).toBe('Pay with telebirr');
    expect(page.body).toContain('The link to telebirr usually appears here within a few seconds.');
    expect(page.body).not.toMatch(/payment request|on your phone/);
  });

  test('failed after the last attempt', async () => {
    const { order, customer } = await after(undefined);
    await orders.useUpAttempts(order);

    expect(headingOf(await customer.get(order.url))).toBe('The payment did not go through');
  });

  test('an unknown outcome is never called a failure, however late it is', async () => {
    const { order, customer } = await after({ attempt: 'UNKNOWN' });
    await orders.endSessionIn(order, -3600);

    const page = await customer.get(order.url);

    expect(headingOf(page)).toBe('Confirm on your phone');
    expect(page.body).toContain('taking longer than usual');
    expect(page.body).not.toContain('<form');
  });

  test.each([
    ['insufficient_funds', 'not enough money'],
    ['provider_error', 'did not accept the payment'],
  ])(
    'declined for %s: the page gives the reason in plain words, with the form to try again',
    async (declineReason, words) => {
      const { order, customer } = await after({ attempt: 'DECLINED', declineReason });

      const page = await customer.get(order.url);

      expect(page.body).toContain(words);
      expect(page.body).toContain('You have 4 more attempts.');
      expect(page.body).toMatch(/value="walleta_ussd"\s+required\s+checked/);
      expect(page.body).toMatch(/id="phone"[^>]*value="0911\u00a022\u00a033\u00a044"/);
    },
  );
});

describe('the payment page', () => {
  test('shows the business, the merchant behind it, the reason, the amount, and the phone of the order', async () => {
    const order = await orders.register({
      merchantName: 'Abeba Trading PLC',
      businessName: 'Shoes <b>& Co</b>',
      reason: 'Two "pairs" of <i>shoes</i>',
      amount: '1250.5',
      environment: Environment.PRODUCTION,
    });

    const { body } = await createCustomer().get(order.url);

    expect(body).toContain('Shoes &lt;b&gt;&amp; Co&lt;/b&gt;');
    expect(body).toContain('a business of Abeba Trading PLC');
    expect(body).toContain('Two &quot;pairs&quot; of &lt;i&gt;shoes&lt;/i&gt;');
    expect(body).toContain('ETB\u00a01,250.50');
    expect(body).toMatch(/id="phone"[^>]*value="0911\u00a022\u00a033\u00a044"/);
    expect(body).toContain('30 minutes');
    expect(body).not.toContain('Test payment');
  });

  test('says that a sandbox payment is a test', async () => {
    const order = await orders.register({ environment: Environment.SANDBOX });

    expect((await createCustomer().get(order.url)).body).toContain('Test payment: no real money moves');
  });

  test('shows its own address as a QR code', async () => {
    const order = await orders.register();

    const { status, headers, body } = await createCustomer().get(`${order.url}/qr.svg`);

    expect([status, headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect(body).toBe(await qrCodeOf(order.url, { type: 'svg', margin: 2, errorCorrectionLevel: 'L' }));
    // The policy of the page allows no inline style.
    expect(body).not.toMatch(/style/);
  });
});

describe('the receipt', () => {
  const facts = ({ body }: { readonly body: string }) =>
    Object.fromEntries(
      [...body.matchAll(/<dt>(.*?)<\/dt><dd><bdi>(.*?)<\/bdi>/g)].map(([, label = '', text]) => [
        label,
        text,
      ]),
    );

  test('shows everything that identifies the payment, and another browser sees only the ends of the phone number', async () => {
    const { order, customer } = await after(
      { attempt: 'SUCCEEDED', order: 'COMPLETED' },
      { merchantName: 'Abeba Trading', contact: { phone: '0911556677', email: 'help@abeba.example' } },
    );

    const own = await customer.get(order.url);
    const other = await createCustomer().get(order.url);

    const expected = {
      Amount: 'ETB\u00a0100.50',
      For: 'Two pairs of shoes',
      'Order number': expect.stringMatching(/^A-[0-9]+$/),
      'Paid to': 'Shoes &amp; Co (Abeba Trading)',
      'Date and time': expect.stringMatching(/^[0-9]{1,2} [A-Z][a-z]+ [0-9]{4}, [0-9]{2}:[0-9]{2}$/),
      'Paid with': 'Wallet A',
      'Wallet reference': expect.stringMatching(/^[0-9A-F]{12}$/),
    };
    expect(facts(own)).toEqual({ ...expected, 'Mobile number': '0911\u00a022\u00a033\u00a044' });
    expect(facts(other)).toEqual({ ...expected, 'Mobile number': '09••\u00a0••\u00a0••\u00a044' });
    expect(own.body).toContain('You have paid ETB\u00a0100.50 to Shoes &amp; Co.');
    expect(other.body).toContain('>ETB\u00a0100.50 was paid to Shoes &amp; Co.<');
    expect(own.body).toContain('<a href="tel:0911556677">0911\u00a055\u00a066\u00a077</a>');
    expect(own.body).toContain('<a href="mailto:help@abeba.example">help@abeba.example</a>');
  });

  test('is dated in the time zone of the deployment, and in the language of the reader', async () => {
    const { order, customer } = await after({ attempt: 'SUCCEEDED', order: 'COMPLETED' });
    await orders.decidedAgo(order, 0);

    const page = await customer.get(order.url, { 'accept-language': 'am' });

    const year = new Intl.DateTimeFormat('en', { timeZone: 'Africa/Addis_Ababa', year: 'numeric' });
    expect(facts(page)['ቀንና ሰዓት']).toContain(year.format(new Date()));
  });
});

describe('the page that waits for a confirmation', () => {
  test('says what happens next and how long it takes, and offers to cancel only until the request is sent', async () => {
    const { order, customer } = await after(undefined, { contact: { phone: '8118', email: '' } });
    const waiting = await customer.get(order.url);
    const status = async (): Promise<unknown> =>
      JSON.parse((await customer.get(`${order.url}/status`)).body) as unknown;
    const before = await status();
    await orders.settle(order, { attempt: 'SENT' });
    const sent = await customer.get(order.url);

    expect(waiting.body).toContain('You have about 3 minutes.');
    expect(waiting.body).toContain('data-cancellable');
    expect(waiting.body).toContain('<a href="tel:8118">8118</a>');
    expect(waiting.body).toMatch(/Order number<\/dt><dd><bdi>A-[0-9]+</);
    expect(sent.body).toContain('Decline it on 0911\u00a022\u00a033\u00a044, or wait');
    expect(sent.body).not.toContain('<form');
    expect(sent.body).toContain('href="https://shop.example/return');
    expect([before, await status()]).toMatchObject([{ cancellable: true }, { cancellable: false }]);
  });

  test('speaks of no prompt and of no three minutes when the payer must open a page of the wallet', async () => {
    const { order, customer } = await after({ attempt: 'SENT', redirectUrl: 'https://wallet.example/pay' });

    const { body } = await customer.get(order.url);
    const refused = await customer.post(`${order.url}/cancel`);

    expect(body).toContain('href="https://wallet.example/pay"');
    expect(body).toContain('Do not confirm it at Wallet A, and wait.');
    expect(refused.body).toContain('The payment has already been started at your wallet.');
    for (const page of [body, refused.body]) {
      expect(page).not.toMatch(/3 minutes|[Dd]ecline|0911/);
    }
  });
});

describe('the way back to the shop', () => {
  test.each<[string, Settlement]>([
    ['success', { attempt: 'SUCCEEDED', order: 'COMPLETED' }],
    ['failure', { attempt: 'DECLINED', order: 'FAILED' }],
    ['expiry', { attempt: 'TIMED_OUT', order: 'EXPIRED' }],
  ])('after %s leads to the exact return_url, by a link and automatically', async (_name, settlement) => {
    const { order, customer } = await after(settlement);
    const escaped = shopsUrl.replaceAll('&', '&amp;');

    const { body } = await customer.get(order.url);

    expect(body).toContain(`href="${escaped}" data-return`);
    expect(body).toContain(`<noscript><meta http-equiv="refresh" content="20; url=${escaped}"></noscript>`);
  });

  test.each<[string, (paid: CheckoutOrder, customer: Customer) => Promise<PageAnswer>]>([
    ['when the page is opened again', ({ url }, customer) => customer.get(url).then(() => customer.get(url))],
    ['in a browser that did not pay', ({ url }) => createCustomer().get(url)],
    [
      'when the payment is no longer recent',
      (paid, customer) => orders.decidedAgo(paid, 301).then(() => customer.get(paid.url)),
    ],
    ['after the customer stops it', ({ url }, customer) => customer.get(`${url}?stay=1`)],
  ])('is not followed automatically %s', async (_name, open) => {
    const { order, customer } = await after({ attempt: 'SUCCEEDED', order: 'COMPLETED' });

    const { body } = await open(order, customer);

    expect(body).toContain('href="https://shop.example/return');
    expect(body).not.toMatch(/data-return|http-equiv="refresh"/);
  });
});

describe('the language', () => {
  test('chosen with the switch is remembered, on every page', async () => {
    const order = await orders.register();
    const customer = createCustomer();
    await customer.get(`${order.url}?lang=am`, { 'accept-language': 'en' });

    const pages = [
      await customer.get(order.url, { 'accept-language': 'en' }),
      await customer.get(`${stack.checkouts[0]!.origin}/c/nothing`, { 'accept-language': 'en' }),
      await customer.post(order.url, {}),
    ];

    expect(pages.map(({ body }) => body.includes('<html lang="am">'))).toEqual([true, true, true]);
  });

  test('is changed by a switch that leads to the same page', async () => {
    const order = await orders.register();
    const { pathname } = new URL(order.url);

    expect((await createCustomer().get(order.url)).body).toContain(`href="${pathname}?lang=am" lang="am"`);
    expect((await createCustomer().get(`${order.url}?lang=am`)).body).toContain(
      `href="${pathname}?lang=en" lang="en"`,
    );
  });

  test('stays the same for an unknown language, which is not remembered', async () => {
    const order = await orders.register();

    const page = await createCustomer().get(`${order.url}?lang=xx`);

    expect(page.headers.get('content-language')).toBe('en');
    expect(page.headers.getSetCookie().join()).not.toContain('gatehouse_language');
  });
});

describe('every answer', () => {
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
  const expected = {
    'cache-control': 'no-store',
    'content-security-policy': policy,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'x-robots-tag': 'noindex, nofollow',
    'strict-transport-security': null,
  };

  test('has the headers that keep a payment private and in its own window', async () => {
    const { order, customer } = await after({ attempt: 'SUCCEEDED', order: 'COMPLETED' });
    const open = await orders.register();
    const { origin } = new URL(order.url);
    const answers = {
      pay: await customer.get(open.url),
      paid: await customer.get(order.url),
      inUse: await createCustomer().get((await after(undefined)).order.url),
      status: await customer.get(`${order.url}/status`),
      qr: await customer.get(`${order.url}/qr.svg`),
      wrongForm: await customer.post(open.url, {}),
      foreignForm: await customer.post(open.url, {}, { 'sec-fetch-site': 'cross-site' }),
      redirect: await customer.post(open.url, payment),
      unknownToken: await customer.get(`${origin}/c/${'a'.repeat(87)}`),
      unknownPath: await customer.get(`${origin}/nowhere`),
      undecodablePath: await customer.get(`${origin}/c/%ff`),
      healthz: await customer.get(`${origin}/healthz`),
    };

    for (const [name, { headers }] of Object.entries(answers)) {
      const found = Object.fromEntries(Object.keys(expected).map((header) => [header, headers.get(header)]));
      expect([name, found]).toEqual([name, expected]);
      expect([name, headers.get('x-request-id')]).toEqual([name, expect.any(String)]);
    }
  });

  test('that is a page has no inline script or style, and loads nothing from another host', async () => {
    const { order, customer } = await after(undefined);
    for (const { body } of [
      await customer.get(order.url),
      await customer.get((await orders.register()).url),
    ]) {
      expect(body).not.toMatch(/<script(?![^>]*\ssrc="\/assets\/)|<style|\sstyle=|\son[a-z]+=/);
      expect(body).not.toMatch(/(src|href)="(https?:)?\/\/(?!shop\.example)/);
    }
  });

  test('that is an asset may be cached for ever, because its name depends on its content', async () => {
    const { body } = await createCustomer().get((await orders.register()).url);
    const paths = [...body.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);

    expect(paths).toHaveLength(3);
    for (const path of paths) {
      const asset = await createCustomer().get(stack.checkouts[0]!.origin + path);
      expect([path, asset.status, asset.headers.get('cache-control')]).toEqual([
        expect.stringMatching(/^\/assets\/[a-z]+\.[0-9a-f]{16}\.(css|js|svg)$/),
        200,
        'public, max-age=31536000, immutable',
      ]);
      expect(asset.headers.get('content-type')).toMatch(/^(text\/(css|javascript)|image\/svg)/);
      expect(asset.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });
});

test('an unknown link gets a page with 404, and so does its form', async () => {
  const unknown = `${stack.checkouts[0]!.origin}/c/${'a'.repeat(87)}`;

  const answers = [await createCustomer().get(unknown), await createCustomer().post(unknown, payment)];

  for (const answer of answers)
    expect([answer.status, headingOf(answer)]).toEqual([404, 'We do not know this link']);
});

describe('the instructions to pay from the menu of the phone', () => {
  const shows = (body: string): boolean => body.includes('174379');

  test.each([
    ['en', 'Pay from the Wallet A menu instead', 'Business number', 'Account number'],
    ['am', 'በምትኩ ከዋሌት ኤ ምናሌ ይክፈሉ', 'የድርጅት ቁጥር', 'የሒሳብ ቁጥር'],
  ])(
    'are on the page in %s, with the number, the order number and the amount',
    async (language, ...texts) => {
      const order = await orders.register({ orderNumber: `MENU-${language}`, amount: '70.00' });

      const { body } = await createCustomer().get(order.url, { 'accept-language': language });

      for (const text of [...texts, '174379', `MENU-${language}`]) expect(body).toContain(text);
      const [, instructions = ''] = body.split('174379');
      expect(instructions).toContain('70');
    },
  );

  test('are not shown while a payment is in progress, or for an order number that menus do not accept', async () => {
    const { order, customer } = await after(undefined);
    const long = await orders.register({ orderNumber: 'LONGER-THAN-20-LETTERS' });
    const most = await orders.register({ orderNumber: 'EXACTLY-20-LETTERS-X' });

    expect(shows((await customer.get(order.url)).body)).toBe(false);
    expect(shows((await createCustomer().get(long.url)).body)).toBe(false);
    expect(shows((await createCustomer().get(most.url)).body)).toBe(true);
  });

  test('are not shown when the wallet would reject the payment, or the merchant has an own account', async () => {
    const ambiguous = [
      await orders.register({ orderNumber: 'OF-TWO-MERCHANTS' }),
      await orders.register({ orderNumber: 'OF-TWO-MERCHANTS' }),
    ];
    const owner = await orders.register();
    const owners = stack.client(MerchantWalletService, 'dashboard');
    const worker = stack.client(MerchantWalletService, 'wallets');
    const { merchantId } = owner;
    const { account } = await owners.addWalletAccount({
      merchantId,
      environment: Environment.SANDBOX,
      wallet: 'walleta',
      values: { client_id: 'own', client_secret: 'own-secret', api_key: 'own-key' },
    });
    const key = { merchantId, walletAccountId: account?.walletAccountId ?? '' };
    const before = shows((await createCustomer().get(owner.url)).body);
    await worker.recordWalletAccountCheck({ ...key, check: WalletAccountCheck.ACCEPTED });
    await owners.promoteWalletAccount(key);

    for (const { url } of ambiguous) expect(shows((await createCustomer().get(url)).body)).toBe(false);
    expect([before, shows((await createCustomer().get(owner.url)).body)]).toEqual([true, false]);
  });
});

test('the status changes its version whenever the page would show something else', async () => {
  const order = await orders.register();
  const customer = createCustomer();
  const version = async (): Promise<unknown> =>
    (JSON.parse((await customer.get(`${order.url}/status`)).body) as { version: unknown }).version;
  const versions = [await version()];
  await customer.post(order.url, payment);
  versions.push(await version(), await version());
  await orders.settle(order, { attempt: 'UNKNOWN' });
  versions.push(await version());
  await orders.settle(order, { attempt: 'DECLINED' });
  versions.push(await version());
  await customer.post(order.url, payment);
  versions.push(await version());
  await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });
  versions.push(await version());

  expect(versions[1]).toBe(versions[2]);
  expect(new Set(versions).size).toBe(6);
});
