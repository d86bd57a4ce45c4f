import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openCheckoutOrders } from '../support/checkout-orders.ts';
import type { CheckoutOrders } from '../support/checkout-orders.ts';
import { launchChromium } from '../support/chromium.ts';
import { openShop } from '../support/shop.ts';
import type { Shop } from '../support/shop.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';

let stack: Stack;
let orders: CheckoutOrders;
let browser: Browser;
let shop: Shop;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  [stack, browser, shop] = await Promise.all([
    startStack({ facades: 0, checkouts: 1 }),
    launchChromium(),
    openShop(),
  ]);
  orders = await openCheckoutOrders(stack);
});

afterAll(async () => {
  await orders.close();
  await Promise.all([browser.close(), shop.close(), stack.stop()]);
});

beforeEach(async () => {
  context = await browser.newContext({ locale: 'en-GB', viewport: { width: 360, height: 740 } });
  page = await context.newPage();
});

afterEach(() => context.close());

const heading = (text: string) => page.getByRole('heading', { name: text }).waitFor();
const payButton = () => page.getByRole('button', { name: /^Pay / });

async function pay(wallet: string): Promise<void> {
  await page.getByRole('radio', { name: wallet }).check();
  await payButton().click();
  await heading('Confirm on your phone');
}

/** Comings to the shop at an address that only the test in question gave out. */
const visitsTo = (path: string) => shop.visits.filter(({ url }) => url === path);

describe('a customer', () => {
  test('pays, sees the payment go through, and is taken back to the shop', async () => {
    const path = '/thanks?order=1&next=%2Fcart&x=a+b';
    const order = await orders.register({ returnUrl: shop.origin + path });
    await page.goto(order.url);
    await pay('Wallet A app');
    expect(await page.getByText('Open the Wallet A app on that phone and approve ETB 100.50.').count()).toBe(
      1,
    );

    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

    await heading('Payment received');
    const [visit] = await waitUntil(
      'the customer is at the shop',
      () => visitsTo(path).length > 0 && visitsTo(path),
    );
    expect(visit?.headers.referer).toBeUndefined();
  });

  test('goes back to the shop by the link', async () => {
    const order = await orders.register({ returnUrl: `${shop.origin}/by-link` });
    await orders.expire(order);
    await page.goto(`${order.url}?stay=1`);

    await page.getByRole('link', { name: 'Back to Shoes & Co' }).click();

    await heading('Thank you');
    expect(visitsTo('/by-link')).toHaveLength(1);
  });

  test('stays when asked to, prints the receipt, and stays when the page is opened again', async () => {
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

  test('with a wrong number reads what can be done, cancels while nothing was sent, and not later', async () => {
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

    await page.getByRole('alert').getByText('Nobody confirmed').waitFor();
    await page.getByLabel('Mobile number').fill('0922 33 44 55');
    await pay('Wallet A app');
    await page.getByText('Wrong number, or changed your mind?').click();
    await cancel.click();
    await heading('Payment cancelled');
  });

  test('changes the phone, hears why it was declined, and pays with the other wallet', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await page.getByLabel('Mobile number').fill('0922 33 44 55');
    await pay('Wallet A without internet');
    await page.getByText('0922 33 44 55').first().waitFor();

    await orders.settle(order, { attempt: 'DECLINED', declineReason: 'insufficient_funds' });
    await page.getByRole('alert').getByText('not enough money').waitFor();
    await pay('Wallet B without internet');

    expect(await orders.attempts(order)).toEqual([
      { status: 'DECLINED', phone: '+251922334455', payment_option: 'WALLETA_USSD' },
      { status: 'REQUESTED', phone: '+251922334455', payment_option: 'WALLETB_USSD' },
    ]);
  });

  test('who presses the button again and again pays once', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await page.getByRole('radio', { name: 'Wallet A app' }).check();

    await payButton().dblclick();
    await heading('Confirm on your phone');

    expect(await orders.attempts(order)).toHaveLength(1);
  });

  test('who sends the form from two tabs at once pays once, and sees it in both', async () => {
    const order = await orders.register();
    const tabs = [page, await context.newPage()];
    for (const tab of tabs) {
      await tab.goto(order.url);
      await tab.getByRole('radio', { name: 'Wallet A app' }).check();
    }

    await Promise.all(tabs.map((tab) => tab.getByRole('button', { name: /^Pay / }).click()));

    for (const tab of tabs) await tab.getByRole('heading', { name: 'Confirm on your phone' }).waitFor();
    expect(await orders.attempts(order)).toHaveLength(1);
  });

  test('gives up, after being asked whether they are sure', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    const sure = page.getByRole('button', { name: 'Yes, cancel the payment' });
    expect(await sure.isVisible()).toBe(false);

    await page.getByText('Cancel this payment').click();
    await sure.click();

    await heading('Payment cancelled');
    expect(await orders.rows(order)).toMatchObject({ orders: [{ status: 'FAILED' }] });
  });

  test('who sees the other browser pay hears how it ended', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await pay('Wallet A app');
    const elsewhere = await browser.newContext({ locale: 'en-GB' });
    const other = await elsewhere.newPage();
    await other.goto(order.url);
    await other.getByRole('heading', { name: 'Already open in another browser' }).waitFor();

    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

    await other.getByRole('heading', { name: 'Payment received' }).waitFor();
    await elsewhere.close();
  });

  test('finds the page expired the moment the time is over', async () => {
    const order = await orders.register();
    await orders.endSessionIn(order, 2);
    await page.goto(order.url);

    await heading('The time to pay has run out');
  });

  test('whose connection is gone for a while is told so, and then how it went', async () => {
    const order = await orders.register();
    await page.goto(order.url);
    await pay('Wallet A app');

    await context.setOffline(true);
    await page.getByText('No connection at the moment.').waitFor();
    await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });
    await context.setOffline(false);

    await heading('Payment received');
  });

  test('reads Amharic when the browser says so, and English at a press', async () => {
    const amharic = await browser.newContext({ locale: 'am-ET' });
    const tab = await amharic.newPage();
    await tab.goto((await orders.register({ amount: '1250.5' })).url);
    expect(await tab.locator('html').getAttribute('lang')).toBe('am');
    expect(await tab.title()).toBe('ለShoes & Co ብር\u00a01,250.50 ይክፈሉ');

    await tab.getByRole('link', { name: 'English' }).click();
    await tab.getByRole('radio', { name: 'Wallet A app' }).check();
    await tab.getByRole('button', { name: /^Pay / }).click();

    await tab.getByRole('heading', { name: 'Confirm on your phone' }).waitFor();
    await amharic.close();
  });

  test('who goes on on another device finds the same page behind the QR code', async () => {
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
});

describe('with the keyboard alone', () => {
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

  test('a mistake is where the focus goes', async () => {
    await page.goto((await orders.register()).url);
    await page.getByLabel('Mobile number').fill('12');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();

    expect(await page.evaluate('document.activeElement.className')).toBe('alert');
  });
});
