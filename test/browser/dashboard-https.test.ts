import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { openAuthority } from '../integration/webhooks/certificates.ts';
import { launchChromium } from '../support/chromium.ts';
import { openDashboardUsers } from '../support/dashboard-users.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { startTlsProxy } from '../support/tls-proxy.ts';
import type { TlsProxy } from '../support/tls-proxy.ts';

const authority = openAuthority();
let proxy: TlsProxy;
let stack: Stack;
let browser: Browser;

beforeAll(async () => {
  proxy = await startTlsProxy(authority.issue({ names: 'DNS:localhost' }));
  stack = await startStack({
    facades: 0,
    dashboards: 1,
    settings: { GATEHOUSE_DASHBOARD_BASE_URL: proxy.origin, GATEHOUSE_TRUSTED_PROXIES: '127.0.0.1' },
  });
  proxy.forwardTo(stack.dashboards[0]?.origin ?? '');
  browser = await launchChromium();
});
afterAll(async () => {
  await browser.close();
  await stack.stop();
  await proxy.close();
  authority.close();
});

test('over HTTPS, a browser keeps the __Host- cookies, and has no session after it signs out', async () => {
  const { id } = await stack.createMerchant();
  const user = await openDashboardUsers(stack).member(id);
  // The authority is the test's own. The browser handles cookies as usual.
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();

  await page.goto(`${proxy.origin}/m/${id}/sandbox/keys`);
  await page.getByLabel('E-mail address').fill(user.email);
  await page.getByLabel('Password', { exact: true }).fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'API keys', exact: true }).waitFor();
  const inside = await context.cookies();
  await page.goto(`${proxy.origin}/account`);
  await page.getByLabel('Name', { exact: true }).fill('Sara');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  await page.locator('.menu-user summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You have signed out.').waitFor();
  const outside = await context.cookies();
  await page.goto(`${proxy.origin}/account`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();

  const kept = inside.filter(({ name }) => name.startsWith('__Host-'));
  expect(kept.map(({ name }) => name).sort()).toEqual([
    '__Host-gatehouse_browser',
    '__Host-gatehouse_csrf',
    '__Host-gatehouse_session',
  ]);
  for (const cookie of kept)
    expect(cookie).toMatchObject({ secure: true, httpOnly: true, sameSite: 'Lax', path: '/' });
  expect(outside.map(({ name }) => name)).not.toContain('__Host-gatehouse_session');
  await context.close();
});
