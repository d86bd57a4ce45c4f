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

/** Long pages, on which mistakes and refusals stand above the button that is pressed next. */
const longPages = new Set([
  'pay, a test, everything long and folded out',
  'pay, with mistakes',
  'try again',
  'confirm, a wrong number',
  'confirm, too late to cancel',
]);

/** The lower edge of the page's main button, in pixels of the page; 0 when it has none. */
const mainButtonEnd = `Math.max(0, ...[...document.querySelectorAll('.button:not(.button-quiet)')]
  .filter((button) => button.checkVisibility())
  .map((button) => button.getBoundingClientRect().bottom + scrollY))`;

/** Buttons that are less than 8 px away from something else that can be pressed. */
const crowdedButtons = `[...document.querySelectorAll('.button')].filter((button) => {
  const own = button.getBoundingClientRect();
  return button.checkVisibility() && [...document.querySelectorAll('a, button, summary, input, label')].some((other) => {
    const box = other.getBoundingClientRect();
    return other !== button && other.checkVisibility() && !(box.top >= own.bottom + 8 || box.bottom <= own.top - 8 ||
      box.left >= own.right + 8 || box.right <= own.left - 8);
  });
}).map((button) => button.textContent)`;

describe.each(Object.entries(everyPage))('%s', (name, visit) => {
  test.each(['en', 'am'])(
    'in %s: axe finds nothing, nothing is scrolled sideways, and the main button is in sight',
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
        await page.setViewportSize({ width: 390, height: 844 });
        expect(await page.evaluate(crowdedButtons)).toEqual([]);
        if (!longPages.has(name)) expect(await page.evaluate<number>(mainButtonEnd)).toBeLessThanOrEqual(844);
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
