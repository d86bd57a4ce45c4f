import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../support/chromium.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { dashboardPages } from './dashboard-pages.ts';
import type { DashboardSite } from './dashboard-pages.ts';
import { openDashboardSite } from './dashboard-site.ts';

let stack: Stack;
let site: DashboardSite;
let browser: Browser;

beforeAll(async () => {
  [stack, browser] = await Promise.all([
    startStack({ facades: 0, dashboards: 1, webhooks: 1 }),
    launchChromium(),
  ]);
  site = await openDashboardSite(stack);
});

afterAll(async () => {
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
  { width: 360, colorScheme: 'dark' },
  { width: 1280, colorScheme: 'light' },
  { width: 1280, colorScheme: 'dark' },
] as const;

/** 320 px is what 1280 px at 400 % come to (WCAG 2.2, 1.4.10). */
const widths = [320, 360, 1280];

describe.each(Object.entries(dashboardPages))('%s', (_name, visit) => {
  test.each(['en', 'am'])(
    'in %s: axe finds nothing, the console is silent, and nothing has to be scrolled sideways',
    async (language) => {
      const context = await browser.newContext({ locale: language, viewport: { width: 1280, height: 740 } });
      try {
        await context.addCookies([
          { name: 'gatehouse_dashboard_language', value: language, url: site.origin },
        ]);
        const page = await context.newPage();
        const errors: string[] = [];
        page.on('pageerror', ({ message }) => errors.push(message));
        page.on('console', (message) => {
          // What the pages about refusals are answered with is no error of theirs.
          if (message.type() === 'error' && !/status of 4\d\d/.test(message.text()))
            errors.push(message.text());
        });
        await visit(page, site);

        expect(await page.locator('html').getAttribute('lang')).toBe(language);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 740 });
          expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
            width,
            width,
          ]);
        }
        for (const { width, colorScheme } of views) {
          await page.setViewportSize({ width, height: 740 });
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          expect(await problemsOf(page)).toEqual([]);
        }
        expect(errors).toEqual([]);
      } finally {
        await context.close();
      }
    },
  );
});
