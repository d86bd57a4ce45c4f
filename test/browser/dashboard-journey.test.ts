import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { launchChromium } from '../support/chromium.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { signIn } from './dashboard-pages.ts';
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

async function inBrowser(
  options: BrowserContextOptions,
  journey: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({ locale: 'en', ...options });
  try {
    await journey(await context.newPage());
  } finally {
    await context.close();
  }
}

const at = (path: string): string => `${site.origin}/m/${site.merchantId}/${path}`;

test('a key is made and revoked without a script', async () => {
  await inBrowser({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } }, async (page) => {
    await signIn(page, site, site.owner);
    await page.goto(at('sandbox/keys'));
    await page.locator('#label').fill('by hand');
    await page.getByRole('button', { name: 'Create key' }).click();
    expect(await page.locator('#secret').textContent()).toMatch(/^svc_test_/);
    await page.getByRole('link', { name: 'I have saved it' }).click();
    await page.locator('summary', { hasText: 'Revoke: by hand' }).click();
    await page.getByRole('button', { name: 'Revoke permanently' }).first().click();
    expect(await page.locator('.alert-good').textContent()).toContain('by hand is revoked.');
  });
});

test('somebody signs in and makes a key with the keyboard alone', async () => {
  await inBrowser({}, async (page) => {
    await page.goto(`${site.origin}/sign-in`);
    // On a busy machine the browser sets the focus after the page has loaded.
    await page.locator('input[name=email]:focus').waitFor();
    await page.keyboard.type(site.owner.email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(site.owner.password);
    await page.keyboard.press('Enter');
    await page.locator('.menu-user').waitFor();
    await page.goto(at('sandbox/keys'));
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('typed');
    await page.keyboard.press('Enter');
    await page.locator('#secret').waitFor();
    expect(page.url()).toBe(at('sandbox/keys'));
  });
});

test('the environment is one switch, on every page, and leads to the same page of the other', async () => {
  await inBrowser({}, async (page) => {
    await signIn(page, site, site.owner);
    for (const path of ['keys', 'webhooks', 'quick-start']) {
      await page.goto(at(`sandbox/${path}`));
      expect(await page.locator('.switch [aria-current]').textContent()).toBe('Sandbox');
      expect(await page.locator('.sandbox-note').count()).toBe(1);
      await page.locator('.switch').getByText('Production').click();
      await page.waitForURL(at(`production/${path}`));
      expect(await page.locator('.switch [aria-current]').textContent()).toBe('Production');
      expect(await page.locator('.sandbox-note').count()).toBe(0);
      expect(await page.title()).toContain('Production');
    }
  });
});

test('the language is chosen in the menu, and stays', async () => {
  await inBrowser({}, async (page) => {
    await signIn(page, site, site.owner);
    await page.goto(at('sandbox/keys'));
    await page.locator('.menu-user summary').click();
    await page.getByRole('link', { name: 'አማርኛ' }).click();
    await page.waitForURL(/lang=am/);
    await page.goto(at('sandbox/keys'));
    expect(await page.locator('h1').textContent()).toBe('የAPI ቁልፎች');
  });
});

test('a page with its style and script weighs less than 100 kB', async () => {
  await inBrowser({}, async (page) => {
    await signIn(page, site, site.owner);
    await page.goto(at('sandbox/webhooks'), { waitUntil: 'networkidle' });

    const bytes = await page.evaluate<number>(
      "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]" +
        '.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)',
    );
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(100_000);
  });
});
