import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import pg from 'pg';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { storedId } from '../support/ids.ts';
import { launchChromium } from '../support/chromium.ts';
import { directPayment, registration } from '../support/order-requests.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { signIn } from './dashboard-pages.ts';
import type { DashboardSite } from './dashboard-pages.ts';
import { openDashboardSite } from './dashboard-site.ts';

let stack: Stack;
let site: DashboardSite;
let browser: Browser;
let story: string;
/** A merchant's texts are shown as texts, however they look. */
const script = `<script>document.title='run'</script>"><img src=x onerror="document.title='run'">`;

/** What a merchant of some standing has. */
async function fill(): Promise<void> {
  const { merchantId } = site;
  const orders = stack.client(OrderService, 'writer');
  for (const [index, own] of [
    {},
    { reason: script, businessName: script },
    { amount: '999999999999.99' },
  ].entries())
    await orders.registerOrder(
      registration({ merchantId, orderNumber: `SHOP-${index}-${'n'.repeat(index * 20)}`, ...own }),
    );
  await orders.registerOrder(registration({ merchantId, orderNumber: `<b>"bold"</b>` }));
  const { order } = await orders.startDirectPayment(
    directPayment({ merchantId, orderNumber: 'PAID-1', phone: '0911000001' }),
  );
  story = order?.orderId ?? '';
  await fetch(`${stack.facades[0]!.sandbox}/api/v1/verify`, { method: 'POST' });
  await waitUntil('the payment is over', async () => {
    const key = { case: 'orderNumber' as const, value: 'PAID-1' };
    const found = await orders.getOrder({ merchantId, environment: Environment.SANDBOX, key });
    return found.order?.status === OrderStatus.COMPLETED;
  });
  const database = new pg.Client({ connectionString: stack.databaseUrl });
  await database.connect();
  await database.query(
    `insert into core.order_counts (merchant_id, environment, type, quarter, currency, payment_option, reason, events, minor_units)
     select $1, 'SANDBOX', type::core.order_event_type, date_trunc('hour', now()) - h * interval '1 hour', currency, option, reason,
       (1 + (h * 7919 + ascii(reason || type)) % n), case when type = 'COMPLETED' then (1 + (h * 7919) % 40) * 12345 else 0 end
     from generate_series(1, 700) h, (values
       ('CREATED', '', '', '', 60), ('COMPLETED', 'ETB', 'WALLETA_USSD', '', 40), ('COMPLETED', 'USD', 'WALLETB_USSD', '', 9),
       ('PAYMENT_DECLINED', '', 'WALLETA_USSD', 'insufficient_funds', 6), ('FAILED', '', 'WALLETB_USSD', 'timed_out', 4),
       ('EXPIRED', '', '', 'session_ended', 5)) as kinds (type, currency, option, reason, n)
     on conflict do nothing`,
    [storedId('mer', merchantId)],
  );
  await database.end();
}

beforeAll(async () => {
  [stack, browser] = await Promise.all([
    startStack({
      facades: 1,
      checkouts: 1,
      dashboards: 1,
      webhooks: 1,
      wallets: 1,
      walletTimeScale: 0.01,
    }),
    launchChromium(),
  ]);
  site = await openDashboardSite(stack);
  await fill();
});

afterAll(async () => {
  await Promise.all([browser.close(), stack.stop()]);
});

const inSandbox = (path: string): string => `${site.origin}/m/${site.merchantId}/sandbox/${path}`;

async function open(
  language: string,
  width: number,
  options: object = {},
): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext({
    locale: language,
    viewport: { width, height: 800 },
    ...options,
  });
  await context.addCookies([{ name: 'gatehouse_dashboard_language', value: language, url: site.origin }]);
  const page = await context.newPage();
  await signIn(page, site, site.owner);
  return { context, page };
}

/** Everything axe knows of WCAG 2.2 at A and AA, and its advice beyond. */
async function problemsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>(
    'axe.run(document, { resultTypes: ["violations"] })',
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

const shots = process.env['GATEHOUSE_TEST_SCREENSHOTS'];

const pages: Readonly<Record<string, () => string>> = {
  home: () => '',
  'home-month': () => '?span=month',
  orders: () => 'orders',
  'orders-search': () => 'orders?amount_from=1&amount_to=x&status=completed',
  'orders-nothing': () => 'orders?number=nothing-like-it',
  order: () => `orders/${story}`,
  links: () => 'links',
  'links-new': () => 'links/new',
};

describe.each(Object.entries(pages))('%s', (name, path) => {
  test.each(['en', 'am'])(
    'in %s: axe finds nothing, no script runs away, nothing is scrolled sideways',
    async (language) => {
      const { context, page } = await open(language, 1280);
      try {
        const errors: string[] = [];
        page.on('pageerror', ({ message }) => errors.push(message));
        page.on('console', (message) => {
          if (!message.text().includes('status of 400')) errors.push(message.text());
        });
        await page.goto(inSandbox(path()));
        await page.evaluate(
          "document.querySelectorAll('main details').forEach((fold) => (fold.open = true))",
        );

        for (const [width, colorScheme] of [
          [1280, 'light'],
          [360, 'dark'],
          [320, 'light'],
        ] as const) {
          await page.setViewportSize({ width, height: 800 });
          // A colour on its way to another is neither.
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
            width,
            width,
          ]);
          expect(await problemsOf(page)).toEqual([]);
          if (shots !== undefined)
            await page.screenshot({ path: join(shots, `${name}-${language}-${width}.png`), fullPage: true });
        }
        expect(errors).toEqual([]);
        expect(await page.title()).not.toBe('run');
      } finally {
        await context.close();
      }
    },
  );
});

test('a merchant makes a payment link, a customer pays by it, and the page says so by itself', async () => {
  const { context, page } = await open('en', 1280);
  try {
    await page.goto(inSandbox(''));
    await page.getByRole('link', { name: 'Payment links' }).first().click();
    await page.getByRole('link', { name: 'Create a payment link' }).click();
    await page.locator('#amount').fill('75.50');
    await page.locator('#reason').fill('Coffee for the team');
    await page.getByRole('button', { name: 'Create the link' }).click();
    await page.locator('.qr img').waitFor();
    expect(await problemsOf(page)).toEqual([]);
    if (shots !== undefined) await page.screenshot({ path: join(shots, 'link-en-1280.png'), fullPage: true });
    const drawn = await page.evaluate<number>("document.querySelector('.qr img').naturalWidth");
    expect(drawn).toBeGreaterThan(0);
    const url = new URL((await page.locator('#checkout-url').textContent()) ?? '');

    const customer = await browser.newContext({ locale: 'en', viewport: { width: 360, height: 740 } });
    const checkout = await customer.newPage();
    await checkout.goto(`${stack.checkouts[0]!.origin}${url.pathname}`);
    expect(await checkout.locator('#phone').inputValue()).toBe('');
    await checkout.locator('#phone').fill('0911000002');
    await checkout.locator('input[type=radio]').first().check({ force: true });
    await checkout.locator('main form button[type=submit]').first().click();

    await page.getByText('The link is paid.').waitFor();
    await customer.close();
    await page.getByRole('link', { name: 'The history of the order' }).click();
    expect(await page.locator('.story-wallet').count()).toBeGreaterThan(0);
    expect(await page.locator('.facts').textContent()).toContain('0911000002');
  } finally {
    await context.close();
  }
});

test('without scripts, numbers are read in a table, and orders are searched', async () => {
  const { context, page } = await open('en', 1280, { javaScriptEnabled: false });
  try {
    await page.goto(inSandbox('?span=month'));
    expect(await page.locator('#chart-table tbody tr').count()).toBe(30);
    expect(await page.locator('.chart').isVisible()).toBe(false);

    await page.goto(inSandbox('orders'));
    await page.locator('#number').fill('PAID');
    await page.getByRole('button', { name: 'Search' }).click();

    expect(await page.locator('tbody tr').count()).toBe(1);
  } finally {
    await context.close();
  }
});

test('a chart is drawn from the table, and the pages weigh little', async () => {
  const { context, page } = await open('en', 1280);
  try {
    const sizes = new Map<string, number>();
    page.on('response', (response) => {
      void response.body().then(
        (body) => sizes.set(new URL(response.url()).pathname, body.length),
        () => undefined,
      );
    });
    await page.goto(inSandbox(''), { waitUntil: 'networkidle' });

    expect(await page.locator('.chart canvas').count()).toBe(1);
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    if (shots !== undefined) process.stdout.write(`${JSON.stringify([...sizes])} ${total}\n`);
    expect(total).toBeLessThan(160_000);
  } finally {
    await context.close();
  }
});
