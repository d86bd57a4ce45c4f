import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { rpcError } from '../../src/contract/error-reason.ts';
import { startFacadeOverRpc } from '../integration/rest-facade/facade-over-rpc.ts';
import type { FacadeOverRpc } from '../integration/rest-facade/facade-over-rpc.ts';
import { expectAccessible, keepPicture, problemsOf } from './accessible.ts';
import { launchChromium } from '../support/chromium.ts';

let facade: FacadeOverRpc;
let browser: Browser;

const unknownOrder = (): never => {
  throw rpcError('ORDER_NOT_FOUND', 'unknown');
};

beforeAll(async () => {
  [facade, browser] = await Promise.all([
    startFacadeOverRpc({ orders: { getOrder: unknownOrder } }),
    launchChromium(),
  ]);
});

afterAll(() => Promise.all([browser.close(), facade.close()]));

/** Accessible at 360 px in dark colours and at 1280 px in light ones, without scrolling sideways at any width. */
async function expectAccessibleInBothSchemes(page: Page, name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await problemsOf(page)).toEqual([]);
  await keepPicture(page, `reference-${name}-360-dark`);
  await expectAccessible(page, 'en');
  await keepPicture(page, `reference-${name}-1280-light`);
}

test('the page at / is accessible and fits every width', async () => {
  const page = await browser.newPage();
  await page.goto(facade.url);
  await expectAccessible(page, 'en');
});

test('the API reference is accessible, closed and with everything open, fits a phone, and weighs less than 100 kB', async () => {
  let bytes = 0;
  const bodies: Promise<void>[] = [];
  const errors: string[] = [];
  const page = await browser.newPage();
  page.on('response', (response) => {
    bodies.push(response.body().then((body) => void (bytes += body.length)));
  });
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  await page.goto(`${facade.url}/docs`);
  await expectAccessibleInBothSchemes(page, 'closed');

  const parts = page.locator('details:not([open]) > summary');
  // Five endpoints with four more languages, errors and a form, and the setups of four languages.
  expect(await parts.count()).toBeGreaterThanOrEqual(5 * 6 + 4);
  for (let closed = await parts.count(); closed > 0; closed--) await parts.first().press('Enter');
  expect(await parts.count()).toBe(0);
  await expectAccessibleInBothSchemes(page, 'open');
  await Promise.all(bodies);
  expect(bodies).toHaveLength(3);
  expect(bytes).toBeLessThan(100_000);
  expect(errors).toEqual([]);
});

test('the API reference sends a request with a test key, never with a live one', async () => {
  const sent: { url: string; headers: Record<string, string>; body: string | null }[] = [];
  const page = await browser.newPage();
  page.on('request', (request) => {
    if (request.method() === 'POST')
      sent.push({ url: request.url(), headers: request.headers(), body: request.postData() });
  });
  await page.goto(`${facade.url}/docs#verifyOrder`);
  const endpoint = page.getByRole('region', { name: 'Check payment order status' });
  await endpoint.getByText('Try it').press('Enter');
  const status = endpoint.getByRole('status');
  const button = endpoint.getByRole('button', { name: 'Send to the sandbox' });

  await endpoint.getByLabel('Test key').fill('svc_live_secret');
  await button.click();
  await status.getByText('This is a live key').waitFor();
  await endpoint.getByLabel('Test key').fill('');
  await button.click();
  await status.getByText('Enter your test key').waitFor();
  expect(sent).toEqual([]);

  await endpoint.getByLabel('Test key').fill('svc_test_any');
  await endpoint.getByLabel('Prefer').fill('wait=1');
  await button.press('Enter');
  await status.getByText('Status 404').waitFor();
  expect(sent).toEqual([
    {
      url: `${facade.url}/api/v1/verify`,
      headers: expect.objectContaining({ apikey: 'svc_test_any', prefer: 'wait=1' }),
      body: expect.stringContaining('"order_number": "TRY-'),
    },
  ]);
  expect(await endpoint.getByRole('group').locator('pre').last().textContent()).toContain(
    '"message": "Not found"',
  );
  await expectAccessible(page, 'en');

  const direct = page.getByRole('region', { name: 'Initiate direct payment' });
  await direct.getByText('Try it').press('Enter');
  expect(await direct.getByLabel('Test key').inputValue()).toBe('svc_test_any');
  await direct.getByRole('button', { name: 'Send to the sandbox' }).click();
  await direct.getByRole('status').getByText('Status').waitFor();
  expect(sent[1]?.url).toBe(`${facade.url}/api/v1/direct?payment_option=walleta_ussd`);
  expect(page.url()).toBe(`${facade.url}/docs#verifyOrder`);
  expect(await page.evaluate('[localStorage.length, sessionStorage.length, document.cookie]')).toEqual([
    0,
    0,
    '',
  ]);
});
