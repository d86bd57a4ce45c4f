import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import type { CheckoutOrder, CheckoutOrders } from '../support/checkout-orders.ts';
import type { Shop } from '../support/shop.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openCheckoutSite } from './checkout-site.ts';
import type { CheckoutSite } from './checkout-site.ts';

let site: CheckoutSite;
let orders: CheckoutOrders;
let shop: Shop;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  site = await openCheckoutSite();
  ({ orders, shop } = site);
});
afterAll(() => site.close());
afterEach(() => context.close());

/** Opens a page in a browser of its own for each of the tests that follow in the block. */
const inBrowser = (options: BrowserContextOptions): void =>
  beforeEach(async () => {
    context = await site.browser.newContext({ locale: 'en-GB', ...options });
    page = await context.newPage();
  });
const phone = { viewport: { width: 360, height: 740 } };

const heading = (text: string) => page.getByRole('heading', { name: text }).waitFor();
const payButton = () => page.getByRole('button', { name: /^Pay / });

/** The customer presses "cancel" when the request is already at the wallet, and before the page has noticed. */
async function cancelTooLate(order: CheckoutOrder): Promise<void> {
  await page.getByText('Wrong number, or changed your mind?').click();
  await page.route('**/status', (route) => route.abort());
  await orders.settle(order, { attempt: 'SENT' });
  await page.getByRole('button', { name: 'Yes, cancel the payment' }).click();
  await page.getByRole('alert').waitFor();
}

async function pay(wallet: string): Promise<void> {
  await page.getByRole('radio', { name: wallet }).check();
  await payButton().click();
  await heading('Confirm on your phone');
}

/** Visits to the shop at an address that only this test uses. */
const visitsTo = (path: string) => shop.visits.filter(({ url }) => url === path);

describe('a customer', () => {
  inBrowser(phone);

  test('pays, sees the payment succeed, and returns to the shop automatically', async () => {
    const path = '/thanks?order=1&next=%2Fcart&x=a+b';
    const order = await orders.register({ returnUrl: shop.origin + path });
    await page.clock.install();
    await page.goto(order.url);
    await pay('Wallet A app');
    expect(await page.getByText('Open the Wallet A app on that phone and approve ETB 100.50.').count()).toBe(
      1,
    );

    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

    await heading('Payment received');
    await page.clock.fastForward('00:20');
    const [visit] = await waitUntil(
      'the customer is at the shop',
      () => visitsTo(path).length > 0 && visitsTo(path),
    );
    expect(visit?.headers.referer).toBeUndefined();
  });

  test('stops the automatic return, prints the receipt, and stays when the page is opened again', async () => {
    const order = await orders.register({ returnUrl: `${shop.origin}/not-yet` });
    await page.goto(order.url);
    await pay('Wallet A app');
    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });
    await heading('Payment received');
    await page.getByRole('link', { name: 'Stay on this page' }).click();
    await page.getByText('Taking you back').waitFor({ state: 'hidden' });

    await page.evaluate('window.print = () => { document.title = "printed"; }');
    await page.getByRole('button', { name: 'Print the receipt' }).click();
    expect(await page.title()).toBe('printed');
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByText('Wallet reference').isVisible()).toBe(true);
    expect(await page.getByRole('link', { name: 'Back to Shoes & Co' }).isVisible()).toBe(false);
    await page.emulateMedia({ media: 'screen' });
    await page.clock.install();
    await page.goto(order.url);
    await page.clock.runFor(60_000);

    await heading('Payment received');
    expect(visitsTo('/not-yet')).toEqual([]);
  });

  test('who has days to pay sees days, and a countdown on the last day', async () => {
    const order = await orders.register();
    await orders.endSessionIn(order, 2 * 86_400 + 30);
    await page.clock.install();
    await page.goto(order.url);
    await page.locator('html.js').waitFor();
    const timer = page.getByRole('timer');

    expect(await timer.textContent()).toMatch(/^2 days/);
    await page.clock.fastForward('24:01:00');
    expect(await timer.textContent()).toMatch(/^23:59:[0-9]{2}$/);
  });

  test('who entered a wrong number sees what to do, can cancel only until the request is sent, and pays with another number and wallet', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await pay('Wallet A app');
    await page.getByText('Wrong number, or changed your mind?').click();
    const cancel = page.getByRole('button', { name: 'Yes, cancel the payment' });
    await cancel.waitFor();

    await orders.settle(order, { attempt: 'SENT' });
    await page.getByText('cannot be cancelled here').waitFor();
    expect(await cancel.isVisible()).toBe(false);
    await orders.settle(order, { attempt: 'TIMED_OUT' });

    await page.getByRole('alert').getByText('was not confirmed').waitFor();
    await page.getByLabel('Mobile number').fill('0922 33 44 55');
    await pay('Wallet B');
    expect(await orders.attempts(order)).toEqual([
      { status: 'TIMED_OUT', phone: '+251911223344', payment_option: 'walleta_wallet' },
      { status: 'REQUESTED', phone: '+251922334455', payment_option: 'walletb_ussd' },
    ]);
    await page.getByText('Wrong number, or changed your mind?').click();
    await cancel.click();
    await heading('Payment cancelled');
  });

  test('who corrected the number and goes back sees the payment', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await page.getByLabel('Mobile number').fill('12');
    await payButton().click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Mobile number').fill('0922334455');
    await pay('Wallet A app');

    await page.goBack();

    await heading('Confirm on your phone');
  });

  test('who cancels too late sees the outcome of the payment', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await pay('Wallet A app');
    await cancelTooLate(order);
    await page.unroute('**/status');

    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

    await heading('Payment received');
  });

  test('comes back from the page of the wallet, and is not sent there again when the outcome is late', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await pay('Wallet A app');
    await orders.settle(order, { attempt: 'SENT', redirectUrl: `${shop.origin}/wallet` });
    await heading('Thank you');
    await page.goto(order.url);
    await heading('Pay with Wallet A');

    await orders.settle(order, { attempt: 'UNKNOWN', redirectUrl: `${shop.origin}/wallet` });

    await page.getByText('taking longer than usual').waitFor();
    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });
    await heading('Payment received');
    expect(visitsTo('/wallet')).toHaveLength(1);
  });

  test('sees the outcome when another browser pays', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await pay('Wallet A app');
    const elsewhere = await site.browser.newContext({ locale: 'en-GB' });
    const other = await elsewhere.newPage();
    await other.goto(order.url);
    await other.getByRole('heading', { name: 'Already open in another browser' }).waitFor();

    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

    await other.getByRole('heading', { name: 'Payment received' }).waitFor();
    await elsewhere.close();
  });

  test('sees the page expire when the time is over', async () => {
    const order = await orders.register();
    await orders.endSessionIn(order, 2);
    await page.goto(order.url);

    await heading('The time to pay has run out');
  });

  test('who pays while offline sees that nothing was sent, and pays when online again', async () => {
    const order = await orders.register();
    await page.goto(order.url);

    await context.setOffline(true);
    await payButton().click();
    await page.getByText('Nothing was sent.').waitFor();
    await context.setOffline(false);

    await pay('Wallet A app');
  });

  test('pays in a browser that says it is offline, while the gateway answers', async () => {
    const order = await orders.register();
    await page.addInitScript(() => Object.defineProperty(navigator, 'onLine', { value: false }));
    await page.goto(order.url);

    await pay('Wallet A app');
  });

  test('who stops a page that does not load can press the button again, and pays', async () => {
    const order = await orders.register();
    await page.clock.install();
    await page.goto(order.url);
    let unanswered = 1;
    await page.route('**/c/*', (route) => {
      const isHeld = route.request().method() === 'POST' && unanswered-- > 0;
      return isHeld ? undefined : route.continue();
    });
    await page.getByRole('radio', { name: 'Wallet A app' }).check();
    const devtools = await context.newCDPSession(page);
    const stopLoading = async () => {
      await page.waitForRequest((request) => request.method() === 'POST');
      await devtools.send('Page.stopLoading');
    };
    await Promise.all([stopLoading(), payButton().click()]);
    await page.getByRole('button', { name: 'One moment…' }).waitFor();

    await page.clock.fastForward('00:20');
    await payButton().click();

    await heading('Confirm on your phone');
  });

  test('sees a notice while offline, and the result when online again', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await pay('Wallet A app');

    await context.setOffline(true);
    await page.getByText('No connection at the moment.').waitFor();
    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });
    await context.setOffline(false);

    await heading('Payment received');
  });

  test('sees a notice while the connection is silent, and the result when it answers again', async () => {
    const order = await orders.register();
    await page.clock.install();
    await page.goto(order.url);
    await pay('Wallet A app');

    await page.route('**/status', () => undefined);
    await page.waitForRequest('**/status');
    await page.clock.fastForward('01:00');
    await page.getByText('No connection at the moment.').waitFor();
    await page.unroute('**/status');
    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

    await heading('Payment received');
  });

  test('who continues on another device opens the same page with the QR code', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await page.getByText('Continue on another device').locator('visible=true').click();
    const code = page.getByRole('img', { name: 'QR code' });

    await code.scrollIntoViewIfNeeded();
    await waitUntil('the code is shown', async () => {
      const shown = '[...document.images].some((image) => image.checkVisibility() && image.naturalWidth > 0)';
      return page.evaluate<boolean>(shown);
    });
  });

  test('sees the phone number above the button on a small phone, however many wallets there are', async () => {
    const order = await orders.register();
    await page.setViewportSize({ width: 360, height: 560 });
    await page.goto(order.url);
    // The site has three options. From the fourth on, the page is compact.
    await page.evaluate("document.querySelector('main').classList.add('sheet-many')");

    const field = await page.getByLabel('Mobile number').boundingBox();
    const button = await payButton().boundingBox();
    expect(button?.y).toBeGreaterThanOrEqual((field?.y ?? Infinity) + (field?.height ?? 0));
  });
});

describe('with the keyboard alone', () => {
  inBrowser(phone);

  test('a customer chooses, changes the phone, and pays', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    const focused = () =>
      page.evaluate<string>(
        'document.activeElement.name || document.activeElement.type || document.activeElement.tagName',
      );
    const tabTo = async (what: string) => {
      for (let press = 0; (await focused()) !== what; press += 1) {
        if (press > 12) throw new Error(`${what} cannot be reached with Tab`);
        await page.keyboard.press('Tab');
      }
    };

    await tabTo('payment_option');
    await page.keyboard.press('ArrowDown');
    await tabTo('phone');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('0733445566');
    await tabTo('submit');
    await page.keyboard.press('Enter');

    await heading('Confirm on your phone');
    expect(await orders.attempts(order)).toMatchObject([{ phone: '+251733445566' }]);
  });

  test('the focus moves to the first invalid field, which the customer sees with its mistake', async () => {
    await page.setViewportSize({ width: 390, height: 500 });
    await page.goto((await orders.register()).url);
    await page.getByLabel('Mobile number').fill('12');
    await page.keyboard.press('Enter');
    await page.locator('input[name=payment_option]:focus').waitFor();
    await page.keyboard.press('Space');
    await page.getByLabel('Mobile number').press('Enter');
    await page.locator('input[name=phone]:focus').waitFor();

    const [label, field] = [page.locator('label[for=phone]'), page.locator('#phone')];
    await waitUntil('the label and the field are on the screen', async () => {
      const [above, below] = await Promise.all([label.boundingBox(), field.boundingBox()]);
      return above !== null && below !== null && above.y >= 0 && below.y + below.height <= 500;
    });
  });
});

describe('without scripts', () => {
  inBrowser({ javaScriptEnabled: false });

  test('a customer pays, and the pages continue to the outcome and to the shop by themselves', async () => {
    const order = await orders.register({ returnUrl: `${shop.origin}/thanks?a=1&b=2` });
    await page.goto(order.url);
    await page.getByText('30 minutes').waitFor();
    await pay('Wallet B');

    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

    await heading('Payment received');
    await heading('Thank you');
    expect(shop.visits.map(({ url }) => url)).toContain('/thanks?a=1&b=2');
  });

  test('a customer who cancels too late sees the outcome of the payment', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await pay('Wallet B');
    await cancelTooLate(order);

    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

    await heading('Payment received');
  });

  test('a customer stops the automatic refresh, and checks again by hand', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await pay('Wallet B');
    const [again, stop] = [
      page.getByRole('link', { name: 'Check again' }),
      page.getByRole('link', { name: 'Stop this page from reloading' }),
    ];
    const [above, below] = [await again.boundingBox(), await stop.boundingBox()];
    expect(below!.y - (above!.y + above!.height)).toBeGreaterThanOrEqual(8);
    await stop.click();
    await page.waitForURL(/stay=1/);
    await orders.settle(order, { attempt: 'DECLINED', declineReason: 'wrong_pin' });

    await page.getByRole('link', { name: 'Check again' }).click();

    await page.getByText('The PIN was not right').waitFor();
  });
});

describe('pages of other origins', () => {
  inBrowser({});

  const at = (host: string, url: string) => url.replace('127.0.0.1', host);

  /**
   * Opens the checkout, so that the browser has its cookie, and then a page of another origin that sends its form.
   */
  async function sendFrom(host: string, order: CheckoutOrder, to: string, head = ''): Promise<void> {
    await page.goto(to);
    await page.goto(`${at(host, shop.origin)}/${order.orderId}`);
    await page.setContent(
      `${head}<form method="post" action="${to}"><input name="payment_option" value="walleta_ussd">
       <input name="phone" value="0911223344"><button>Win a phone</button></form>`,
    );
    await page.getByRole('button').click();
    await page.getByRole('heading', { name: 'This request did not come from our page' }).waitFor();
  }

  test.each([
    ['on another port of our host', '127.0.0.1', '127.0.0.1', ''],
    [
      'on another site, where the browser does not say which',
      'evil.test',
      'pay.test',
      '<meta name="referrer" content="no-referrer">',
    ],
  ])('a form %s starts nothing', async (_where, host, ours, head) => {
    const order = await orders.register();
    await sendFrom(host, order, at(ours, order.url), head);
    expect(await orders.attempts(order)).toEqual([]);
  });

  test('our own form is accepted when the browser does not name its origin', async () => {
    const order = await orders.register();
    await page.goto(at('pay.test', order.url));
    await pay('Wallet A app');
    expect(await orders.attempts(order)).toHaveLength(1);
  });

  test('no other page can show the checkout in a frame', async () => {
    const order = await orders.register();
    await page.goto(`${shop.origin}/framing`);
    await page.setContent(`<iframe src="${order.url}"></iframe>`);
    await page.waitForLoadState('networkidle');

    const frame = page.frames().find((candidate) => candidate !== page.mainFrame());
    expect(await frame?.locator('form').count()).toBe(0);
  });
});
