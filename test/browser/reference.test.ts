import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startFacadeOverRpc } from '../integration/rest-facade/facade-over-rpc.ts';
import type { FacadeOverRpc } from '../integration/rest-facade/facade-over-rpc.ts';
import { expectAccessible } from './accessible.ts';
import { launchChromium } from '../support/chromium.ts';

let facade: FacadeOverRpc;
let browser: Browser;

beforeAll(async () => {
  [facade, browser] = await Promise.all([startFacadeOverRpc({}), launchChromium()]);
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
