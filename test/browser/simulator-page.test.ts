import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startSimulator } from '../integration/wallet-simulator/simulator-under-test.ts';
import type { SimulatorUnderTest } from '../integration/wallet-simulator/simulator-under-test.ts';
import { launchChromium } from '../support/chromium.ts';

let simulator: SimulatorUnderTest;
let browser: Browser;

beforeAll(async () => {
  simulator = await startSimulator({ interactive: true });
  browser = await launchChromium();
  await simulator.pay('251911223344', { body: { descriptionText: 'Coffee beans, roasted' } });
  for (const nn of ['00', '02', '24', '26']) await simulator.pay(`2519000000${nn}`);
  simulator.time.pass(1_000);
});

afterAll(async () => {
  await browser.close();
  await simulator.close();
});

test.each([280, 320, 390, 1_280])('at %s px, no time wraps and nothing overflows the page', async (width) => {
  const page = await browser.newPage({ viewport: { width, height: 800 } });
  await page.goto(simulator.origin);

  const lines = await page.evaluate<number[]>(
    '[...document.querySelectorAll("time")].map((time) => time.getClientRects().length)',
  );
  const hidden = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  await page.close();

  expect(lines).toEqual(Array.from({ length: 5 + 3 }, () => 1));
  expect(hidden).toBe(0);
});

test('at 280 px, the page without clicks does not overflow either', async () => {
  const watched = await startSimulator({ interactive: false });
  const page = await browser.newPage({ viewport: { width: 280, height: 800 } });
  await page.goto(watched.origin);
  const hint = await page.textContent('code');
  const hidden = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  await page.close();
  await watched.close();

  expect(hint).toBe('GATEHOUSE_SIMULATOR_INTERACTIVE=true');
  expect(hidden).toBe(0);
});
