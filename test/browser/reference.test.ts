import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { rpcError } from '../../src/contract/error-reason.ts';
import { startFacadeOverRpc } from '../integration/rest-facade/facade-over-rpc.ts';
import type { FacadeOverRpc } from '../integration/rest-facade/facade-over-rpc.ts';
import { expectAccessible } from './accessible.ts';
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

test('the API reference fits a phone, with its endpoints, probes and webhooks open', async () => {
  const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
  await page.goto(`${facade.url}/docs`);
  const endpoints = page.locator('.opblock-summary-control');
  await endpoints.first().waitFor();
  for (const endpoint of await endpoints.all()) await endpoint.click();
  await page.locator('.responses-table').nth(10).waitFor();

  const width = await page.evaluate('document.documentElement.scrollWidth');

  expect(await endpoints.count()).toBe(11);
  expect(width).toBe(360);
});

test('the page at / is accessible and fits every width', async () => {
  const page = await browser.newPage();
  await page.goto(facade.url);
  await expectAccessible(page, 'en');
});

test('the page /docs/try sends a request with a test key, never with a live one, and is accessible and light', async () => {
  const sent: { key: string | undefined; body: string | null }[] = [];
  let bytes = 0;
  const page = await browser.newPage();
  page.on('request', (request) => {
    if (request.method() === 'POST')
      sent.push({ key: request.headers()['apikey'], body: request.postData() });
  });
  page.on('response', async (response) => {
    bytes += (await response.body().catch(() => Buffer.alloc(0))).length;
  });
  await page.goto(`${facade.url}/docs/try`);
  const status = page.getByRole('status');
  await expectAccessible(page, 'en');

  await page.getByLabel('Test key').fill('svc_live_secret');
  await page.getByRole('button').click();
  await status.getByText('This is a live key').waitFor();
  expect(sent).toEqual([]);

  await page.getByLabel('Test key').fill('svc_test_any');
  await page.getByLabel('Endpoint').selectOption('/api/v1/verify');
  await page.getByRole('button').click();
  await status.getByText('Status 404').waitFor();
  expect(sent).toEqual([{ key: 'svc_test_any', body: expect.stringContaining('"order_number": "TRY-') }]);
  expect(await page.locator('#answer').textContent()).toContain('"message": "Not found"');
  await expectAccessible(page, 'en');
  expect(page.url()).toBe(`${facade.url}/docs/try`);
  expect(bytes).toBeLessThan(20_000);
});
