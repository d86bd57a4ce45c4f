import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openCheckoutOrders } from '../support/checkout-orders.ts';
import type { CheckoutOrders } from '../support/checkout-orders.ts';
import { launchChromium } from '../support/chromium.ts';
import { openShop } from '../support/shop.ts';
import type { Shop } from '../support/shop.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';

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
  context = await browser.newContext({ locale: 'en-GB', javaScriptEnabled: false });
  page = await context.newPage();
});

afterEach(() => context.close());

const heading = (text: string) => page.getByRole('heading', { name: text }).waitFor();

async function pay(): Promise<void> {
  await page.getByRole('radio', { name: 'Wallet B without internet' }).check();
  await page.getByRole('button', { name: /^Pay / }).click();
  await heading('Confirm on your phone');
}

test('without scripts a customer pays, and the pages go on to the outcome and to the shop by themselves', async () => {
  const order = await orders.register({ returnUrl: `${shop.origin}/thanks?a=1&b=2` });
  await page.goto(order.url);
  await page.getByText('30 minutes').waitFor();
  await pay();

  await orders.settle(order, { attempt: 'SUCCEEDED', order: 'COMPLETED' });

  await heading('Payment received');
  await heading('Thank you');
  expect(shop.visits.map(({ url }) => url)).toContain('/thanks?a=1&b=2');
});

test('without scripts a customer checks again by hand, having stopped the page from doing so', async () => {
  const order = await orders.register();
  await page.goto(order.url);
  await pay();
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

test('without scripts a customer puts a mistake right, and cancels', async () => {
  const order = await orders.register();
  await page.goto(order.url);
  await page.getByRole('button', { name: /^Pay / }).click();
  await page.getByText('Choose how you want to pay.').waitFor();

  await page.getByText('Cancel this payment').click();
  await page.getByRole('button', { name: 'Yes, cancel the payment' }).click();

  await heading('Payment cancelled');
});
