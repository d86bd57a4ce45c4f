import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import {
  StrayPaymentService,
  StrayPaymentStatus,
} from '../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { launchChromium } from '../support/chromium.ts';
import { openDashboardUsers } from '../support/dashboard-users.ts';
import type { TestUser } from '../support/dashboard-users.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';

let stack: Stack;
let browser: Browser;
let merchant: TestMerchant;
let operator: TestUser;
let developer: TestUser;
let origin: string;

beforeAll(async () => {
  [stack, browser] = await Promise.all([
    startStack({ dashboards: 1, webhooks: 1, wallets: 1 }),
    launchChromium(),
  ]);
  origin = stack.dashboards[0]?.origin ?? '';
  const users = openDashboardUsers(stack);
  merchant = await stack.createMerchant();
  operator = await users.operator();
  developer = await users.member(merchant.id);
  await fetch(`${stack.facades[0]?.sandbox}/api/v1/register`, {
    method: 'POST',
    headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
    body: JSON.stringify({
      order_number: 'W-1',
      amount: '1.005',
      currency: 'ETB',
      reason: '<script>alert(1)</script>',
      customer_phone: '0911223344',
      return_url: 'https://shop.example/',
    }),
  });
  await Promise.all([findTrouble(), refuseReversal()]);
});

afterAll(async () => {
  await Promise.all([browser.close(), stack.stop()]);
});

/** An endpoint that somebody paused. */
async function findTrouble(): Promise<void> {
  const own = { merchantId: merchant.id, environment: Environment.SANDBOX };
  const webhooks = stack.webhookClient('operator');
  await webhooks.sendTestEvent({ ...own, url: 'https://there-is-no-such-shop.example/hook' });
  const endpoint = 'https://there-is-no-such-shop.example';
  await webhooks.pauseEndpoint({ ...own, endpoint, reason: '<i>moving</i>' });
}

/** Money that is no order's, and that its wallet will not give back. */
async function refuseReversal(): Promise<void> {
  const body = { order_number: 'S-1', amount: '7', currency: 'ETB', phone: '+251900000027' };
  await fetch(`${stack.facades[0]?.sandbox}/api/v1/direct?payment_option=walleta_ussd`, {
    method: 'POST',
    headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const statuses = [StrayPaymentStatus.REVERSAL_REFUSED];
  await waitUntil(
    'the wallet has refused',
    async () =>
      (await stack.client(StrayPaymentService, 'reader').listStrayPayments({ statuses })).strayPayments[0],
  );
}

async function openAs(user: TestUser, language = 'en'): Promise<Page> {
  const context = await browser.newContext({ locale: language, viewport: { width: 1280, height: 740 } });
  await context.addCookies([{ name: 'gatehouse_dashboard_language', value: language, url: origin }]);
  const page = await context.newPage();
  await page.goto(`${origin}/sign-in`);
  await page.locator('#email').fill(user.email);
  await page.locator('#password').fill(user.password);
  await page.locator('main button[type=submit]').first().click();
  await page.locator('.menu-user').waitFor();
  return page;
}

/** To the one request there is, as soon as it is in the log. */
async function toRequest(page: Page): Promise<void> {
  await insist('the request is in the log', async () => {
    await page.goto(`${origin}/m/${merchant.id}/sandbox/requests?outcome=refused`);
    await page.locator('tbody a').first().click({ timeout: 1_000 });
  });
  await page.locator('pre').first().waitFor();
}

test('a developer finds out why a request was refused, and sees no whole phone number', async () => {
  const page = await openAs(developer);
  await toRequest(page);

  const text = await page.locator('main').innerText();
  expect(text).toContain('INVALID_FIELDS');
  expect(text).toContain('must have at most 2 decimals');
  expect(text).toContain('<script>alert(1)</script>');
  expect(text).toContain('09112**344');
  expect(text).not.toContain('0911223344');
  await page.context().close();
});

test('an operator lets a merchant in, and who saves second is told', async () => {
  const page = await openAs(operator);
  await page.goto(`${origin}/operator/merchants`);
  await page.locator('#name').fill('Sheger <b>Books</b>');
  await page.locator('main form.sheet button').click();
  await page.locator('#minutes').waitFor();
  const other = await page.context().newPage();
  await other.goto(page.url());

  await page.locator('#minutes').fill('45');
  await page.locator('#largest').fill('etb 5000');
  await page.locator('main form.sheet button').click();
  await page.locator('.alert-good').waitFor();
  await other.locator('#name').fill('Mine');
  await other.locator('main form.sheet button').click();
  await other.locator('.alert-bad').waitFor();

  expect(await page.locator('#largest').inputValue()).toBe('ETB 5000');
  expect(await other.locator('h1').innerText()).toBe('Sheger <b>Books</b>');
  expect(await other.locator('#name').inputValue()).toBe('Mine');
  await page.context().close();
});

test('an operator suspends a merchant with a reason, and lets it go on', async () => {
  const { id } = await stack.createMerchant();
  const page = await openAs(operator);
  await page.goto(`${origin}/operator/merchants/${id}`);

  await page.locator('summary', { hasText: 'Suspend' }).click();
  await page.locator('#reason').fill('asked for by the bank');
  await page.locator('button', { hasText: 'Suspend' }).click();
  await page.locator('.alert-good').waitFor();
  expect(await page.locator('.facts .badge').innerText()).toBe('Suspended');
  await page.locator('summary', { hasText: 'Resume' }).click();
  await page.locator('button', { hasText: 'Resume' }).click();
  await page.locator('.facts .badge-good').waitFor();
  await page.context().close();
});

test('an operator finds who is not told, and why money does not go back, and has the wallet asked again', async () => {
  const page = await openAs(operator);
  await page.goto(`${origin}/operator/endpoints`);
  expect(await page.locator('tbody').innerText()).toContain('<i>moving</i>');
  await page.locator('tbody a', { hasText: 'webhooks' }).click();
  expect(await page.locator('#endpoint').inputValue()).toBe('https://there-is-no-such-shop.example');

  await page.goto(`${origin}/operator/stray-payments`);
  await page.locator('tbody', { hasText: 'This payment cannot be reversed' }).waitFor();
  await page.locator('summary', { hasText: 'Retry' }).click();
  await page.locator('button', { hasText: 'Retry the reversal' }).click();
  await page.locator('.alert-good').waitFor();
  await page.context().close();
});

test('members of a merchant find nothing at the operator’s addresses', async () => {
  const page = await openAs(developer);
  for (const path of [
    '',
    '/merchants',
    '/orders',
    '/wallets',
    '/stray-payments',
    '/reconciliations',
    '/pipeline',
    '/endpoints',
  ]) {
    expect((await page.goto(`${origin}/operator${path}`))?.status()).toBe(404);
  }
  await page.context().close();
});

type Visit = (page: Page) => Promise<unknown>;
const at =
  (path: string): Visit =>
  (page) =>
    page.goto(`${origin}/operator${path}`);

const pages: [name: string, visit: Visit][] = [
  ['the overview', at('')],
  ['merchants', at('/merchants')],
  ['one merchant', (page) => at(`/merchants/${merchant.id}`)(page)],
  ['orders', at('/orders?text=no-such-order')],
  ['wallets', at('/wallets?environment=sandbox')],
  ['stray payments', at('/stray-payments?environment=sandbox')],
  ['reconciliations', at('/reconciliations?environment=sandbox')],
  ['the pipeline', at('/pipeline')],
  ['endpoints in trouble', at('/endpoints')],
  ['API requests', (page) => page.goto(`${origin}/m/${merchant.id}/sandbox/requests`)],
  ['one API request', toRequest],
];

describe.each(['en', 'am'])('in %s, axe finds nothing and nothing is cut off', (language) => {
  test.each(pages)('%s', async (_name, visit) => {
    const page = await openAs(operator, language);
    await visit(page);
    for (const fold of await page.locator('main summary').all()) await fold.click();
    for (const [width, colorScheme] of [
      [360, 'dark'],
      [1280, 'light'],
    ] as const) {
      await page.setViewportSize({ width, height: 740 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<AxeResults>(
        'axe.run(document, { resultTypes: ["violations"] })',
      );
      expect(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    expect(await page.locator('html').getAttribute('lang')).toBe(language);
    await page.context().close();
  });
});
