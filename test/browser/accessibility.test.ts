import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { openCheckoutOrders } from '../support/checkout-orders.ts';
import type { CheckoutOrders } from '../support/checkout-orders.ts';
import { launchChromium } from '../support/chromium.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
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

/** Everything axe knows of WCAG 2.2 at A and AA, and its advice beyond. */
async function problemsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>(
    'axe.run(document, { resultTypes: ["violations"] })',
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

const views = [
  { width: 360, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
] as const;

/** 320 px is what 1280 px at 400 % come to (WCAG 2.2, 1.4.10). */
const widths = [320, 360, 1280];

describe.each(Object.entries(everyPage))('%s', (_name, visit) => {
  test.each(['en', 'am'])(
    'in %s: axe finds nothing, and nothing has to be scrolled sideways',
    async (language) => {
      const context = await browser.newContext({ locale: language, viewport: { width: 360, height: 740 } });
      try {
        const page = await context.newPage();
        await visit(page, orders, stack.checkouts[0]!.origin);

        for (const width of widths) {
          await page.setViewportSize({ width, height: 740 });
          expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
            width,
            width,
          ]);
        }
        for (const { width, colorScheme } of views) {
          await page.setViewportSize({ width, height: 740 });
          await page.emulateMedia({ colorScheme });
          expect([colorScheme, await problemsOf(page)]).toEqual([colorScheme, []]);
        }
        expect(await page.locator('html').getAttribute('lang')).toBe(language);
      } finally {
        await context.close();
      }
    },
  );
});
