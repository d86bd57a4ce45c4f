import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { openCheckoutOrders } from '../support/checkout-orders.ts';
import type { CheckoutOrders } from '../support/checkout-orders.ts';
import { launchChromium } from '../support/chromium.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { everyPage } from './every-page.ts';

let stack: Stack;
let orders: CheckoutOrders;
let browser: Browser;

beforeAll(async () => {
  [stack, browser] = await Promise.all([startStack({ facades: 0, checkouts: 1 }), launchChromium()]);
  orders = await openCheckoutOrders(stack);
});

afterAll(async () => {
  await orders.close();
  await Promise.all([browser.close(), stack.stop()]);
});

/** Less than this in all: the page and everything it loads, headers included, uncompressed. */
const limitBytes = 60_000;

test.each(Object.entries(everyPage))(
  '%s: weighs less than 60 kB with nothing in the cache, all of it from our own host and as our policy allows',
  async (_name, visit) => {
    const { origin } = stack.checkouts[0]!;
    const context = await browser.newContext({ locale: 'am' });
    try {
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (/content security policy/i.test(message.text())) complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      const foreign: string[] = [];
      page.on('request', (request) => {
        if (!request.url().startsWith(`${origin}/`)) foreign.push(request.url());
      });
      await visit(page, orders, origin);

      const bytes = await weigh(page);

      expect(complaints).toEqual([]);
      expect(foreign).toEqual([]);
      expect(bytes).toBeGreaterThan(5_000);
      expect(bytes).toBeLessThan(limitBytes);
    } finally {
      await context.close();
    }
  },
);

/** The bytes that come over the network when the page is loaded afresh, until all of it is there. */
async function weigh(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
  let bytes = 0;
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.goto(page.url(), { waitUntil: 'load' });
  await page.evaluate('[...document.images].forEach((image) => { image.loading = "eager"; })');
  await waitUntil('all images are there', () =>
    page.evaluate<boolean>('[...document.images].every((image) => image.complete)'),
  );
  return bytes;
}
