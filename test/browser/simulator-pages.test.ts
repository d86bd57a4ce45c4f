import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { newRandomId } from '../../src/contract/public-id.ts';
import type { WalletConnector } from '../../src/wallets/connector/wallet-connector.ts';
import {
  createTelebirr,
  payment,
  settings,
  simulatorCredentials,
} from '../integration/wallets/telebirr-subject.ts';
import { startSimulator } from '../integration/wallet-simulator/simulator-under-test.ts';
import type { SimulatorUnderTest } from '../integration/wallet-simulator/simulator-under-test.ts';
import { launchChromium } from '../support/chromium.ts';
import { startInline } from '../support/inline-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { paymentQuery } from '../support/wallet-queries.ts';

const options = { signal: new AbortController().signal };
let simulator: GatehouseProcess;
/** The simulated phone with payments that are asked for and decided. */
let phone: SimulatorUnderTest;
let browser: Browser;
let connector: WalletConnector;
let origin: string;

beforeAll(async () => {
  simulator = await startInline('wallet-simulator', {
    GATEHOUSE_SIMULATOR_PORT: '0',
    GATEHOUSE_SIMULATOR_INTERACTIVE: 'true',
    GATEHOUSE_SIMULATOR_TIME_SCALE: '0.2',
    GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify({ telebirr: simulatorCredentials }),
  });
  origin = String(simulator.ready['origin']);
  connector = createTelebirr(settings(origin), 'http://127.0.0.1:9/callbacks');
  phone = await startSimulator({ interactive: true });
  await phone.pay('251911223344', { body: { descriptionText: 'Coffee beans, roasted' } });
  for (const nn of ['00', '02', '24', '26']) await phone.pay(`2519000000${nn}`);
  phone.time.pass(1_000);
  browser = await launchChromium();
});

afterAll(async () => {
  await browser.close();
  await phone.close();
  await connector.close();
  await simulator.stop();
});

async function order(): Promise<{ readonly attemptId: string; readonly url: string }> {
  const attemptId = newRandomId('pat', new Date());
  const returnUrl = `${origin}/healthz?from=telebirr`;
  const { result } = await connector.initiate(payment({ attemptId, returnUrl }), options);
  if (result.kind !== 'accepted' || result.nextAction?.kind !== 'redirect') throw new Error(result.kind);
  return { attemptId, url: result.nextAction.url };
}

const outcomeOf = async (attemptId: string): Promise<string> =>
  (await connector.query(paymentQuery({ attemptId }), options)).result.kind;

const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

describe.each([
  [390, 844],
  [1_280, 800],
])('at %i x %i', (width, height) => {
  test('the payer types a number, pays, and returns to the shop', async () => {
    const { attemptId, url } = await order();
    const page = await browser.newPage({ viewport: { width, height } });
    await page.goto(url);
    const button = page.getByRole('button', { name: 'Pay 100.50 ETB' });
    const box = await button.boundingBox();
    const widths = [await overflow(page)];

    await page.getByLabel('Mobile number').fill('12345');
    await button.click();
    const problem = await page.getByRole('alert').textContent();
    const typed = await page.getByLabel('Mobile number').inputValue();
    await page.getByLabel('Mobile number').fill('0911 22 33 44');
    await button.click();
    await page.getByRole('heading', { name: 'Payment successful' }).waitFor();
    widths.push(await overflow(page));
    await page.waitForURL(/\/healthz/);

    expect(box!.y + box!.height).toBeLessThanOrEqual(height);
    expect(problem).toContain('telebirr account');
    expect(typed).toBe('12345');
    expect(widths).toEqual([0, 0]);
    expect(new URL(page.url()).searchParams.get('trade_status')).toBe('Completed');
    expect(await outcomeOf(attemptId)).toBe('completed');
    await page.close();
  });

  test('the simulator’s phone shows an open order, and each decision is one click', async () => {
    const page = await browser.newPage({ viewport: { width, height } });
    const kinds: string[] = [];

    for (const label of ['Approve', 'Decline', 'Let it time out', 'Lose the answer']) {
      const { attemptId } = await order();
      await page.goto(origin);
      expect(await overflow(page)).toBe(0);
      await page.getByRole('button', { name: label }).click();
      await page.waitForLoadState();
      kinds.push(await outcomeOf(attemptId));
    }

    expect(kinds).toEqual(['completed', 'declined', 'timed_out', 'completed']);
    expect(await page.getByText('The answer was lost').count()).toBeGreaterThan(0);
    await page.close();
  });
});

test('a page is refused if the shop did not sign its link, or if it belongs to no order', async () => {
  const { url } = await order();

  const forged = await fetch(url.replace(/prepay_id=[^&]+/, 'prepay_id=other'));
  const missing = await fetch(`${origin}/telebirr/pay/other`);
  const unencoded = await fetch(url.replaceAll('%2B', '+'));

  expect([forged.status, missing.status, unencoded.status]).toEqual([400, 400, 200]);
  expect(await forged.text()).toContain('not signed by the shop');
});

test('a payment that the payer cancels is declined', async () => {
  const { attemptId, url } = await order();
  const page = await browser.newPage();
  await page.goto(url);

  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('heading', { name: 'Payment failed' }).waitFor();

  expect(await outcomeOf(attemptId)).toBe('declined');
  await page.close();
});

test.each([280, 320, 390, 1_280])('at %s px, no time wraps and nothing overflows the page', async (width) => {
  const page = await browser.newPage({ viewport: { width, height: 800 } });
  await page.goto(phone.origin);

  const lines = await page.evaluate<number[]>(
    '[...document.querySelectorAll("time")].map((time) => time.getClientRects().length)',
  );
  const hidden = await overflow(page);
  await page.close();

  expect(lines).toEqual(Array.from({ length: 5 + 3 }, () => 1));
  expect(hidden).toBe(0);
});

test('at 280 px, the page without clicks does not overflow either', async () => {
  const watched = await startSimulator({ interactive: false });
  const page = await browser.newPage({ viewport: { width: 280, height: 800 } });
  await page.goto(watched.origin);
  const hint = await page.textContent('code');
  const hidden = await overflow(page);
  await page.close();
  await watched.close();

  expect(hint).toBe('GATEHOUSE_SIMULATOR_INTERACTIVE=true');
  expect(hidden).toBe(0);
});
