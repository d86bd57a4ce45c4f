import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openCheckoutOrders } from '../support/checkout-orders.ts';
import type { CheckoutOrder, CheckoutOrders } from '../support/checkout-orders.ts';
import { launchChromium } from '../support/chromium.ts';
import { openShop } from '../support/shop.ts';
import type { Shop } from '../support/shop.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';

let stack: Stack;
let orders: CheckoutOrders;
let browser: Browser;
let elsewhere: Shop;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  [stack, browser, elsewhere] = await Promise.all([
    startStack({ facades: 0, checkouts: 1 }),
    launchChromium(),
    openShop(),
  ]);
  orders = await openCheckoutOrders(stack);
});

afterAll(async () => {
  await orders.close();
  await Promise.all([browser.close(), elsewhere.close(), stack.stop()]);
});

beforeEach(async () => {
  context = await browser.newContext({ locale: 'en' });
  page = await context.newPage();
});

afterEach(() => context.close());

const at = (host: string, url: string) => url.replace('127.0.0.1', host);

/** Opens the checkout, so that the browser has its cookie, and then a page elsewhere that sends its form. */
async function sendFrom(host: string, order: CheckoutOrder, to: string, head = ''): Promise<void> {
  await page.goto(to);
  await page.goto(`${at(host, elsewhere.origin)}/${order.orderId}`);
  await page.setContent(
    `${head}<form method="post" action="${to}"><input name="payment_option" value="walleta_ussd">
     <input name="phone" value="0911223344"><button>Win a phone</button></form>`,
  );
  await page.getByRole('button').click();
  await page.getByRole('heading', { name: 'This request did not come from our page' }).waitFor();
}

describe('a form on another page starts nothing:', () => {
  test('on another site', async () => {
    const order = await orders.register();
    await sendFrom('localhost', order, order.url);
    expect(await orders.attempts(order)).toEqual([]);
  });

  test('on another port of our host', async () => {
    const order = await orders.register();
    await sendFrom('127.0.0.1', order, order.url);
    expect(await orders.attempts(order)).toEqual([]);
  });

  test('on another site, where the browser does not say which', async () => {
    const order = await orders.register();
    const url = at('pay.test', order.url);
    await sendFrom('evil.test', order, url, '<meta name="referrer" content="no-referrer">');
    expect(await orders.attempts(order)).toEqual([]);
  });
});

test('over a connection on which the browser says nothing of where a form comes from, our own works', async () => {
  const order = await orders.register();
  await page.goto(at('pay.test', order.url));
  await page.getByRole('radio', { name: 'Wallet A app' }).check();
  await page.getByRole('button', { name: /^Pay / }).click();

  await page.getByRole('heading', { name: 'Confirm on your phone' }).waitFor();
  expect(await orders.attempts(order)).toHaveLength(1);
});

test('no other page shows ours in a frame', async () => {
  const order = await orders.register();
  await page.goto(`${elsewhere.origin}/framing`);
  await page.setContent(`<iframe src="${order.url}"></iframe>`);
  await page.waitForLoadState('networkidle');

  const frame = page.frames().find((candidate) => candidate !== page.mainFrame());
  expect(await frame?.locator('form').count()).toBe(0);
});
