import type { Page } from 'playwright-core';
import { waitUntil } from '../support/wait-until.ts';
import type { DashboardSite } from './dashboard-site.ts';

/** Brings a browser to a page of the dashboard. */
export type VisitPage = (page: Page, site: DashboardSite) => Promise<unknown>;

/** A page of the merchant's sandbox, as its owner sees it. */
const inSandbox =
  (path: string): VisitPage =>
  (page, { origin, merchantId }) =>
    page.goto(`${origin}/m/${merchantId}/sandbox/${path}`);

const at =
  (path: string): VisitPage =>
  (page, { origin }) =>
    page.goto(origin + path);

/** The one request that was refused, as soon as it is in the log. */
export async function toRequest(page: Page, { origin, merchantId }: DashboardSite): Promise<void> {
  const request = page.locator('tbody a').first();
  await waitUntil('the request is in the log', async () => {
    await page.goto(`${origin}/m/${merchantId}/sandbox/requests?outcome=refused`);
    return (await request.count()) > 0;
  });
  await request.click();
  await page.locator('pre').first().waitFor();
}

/** Every page that needs no sign-in, by name, and how a user reaches it. */
export const publicPages: Readonly<Record<string, VisitPage>> = {
  'signing in': at('/sign-in'),
  'signing in, with a mistake': async (page, { origin }) => {
    await page.goto(`${origin}/sign-in`);
    await page.locator('#email').fill('nobody@shop.example');
    await page.locator('#password').fill('not my password');
    await page.locator('main button[type=submit]').click();
    await page.locator('.alert-bad').waitFor();
  },
  'signing in, with nothing filled in': async (page, { origin }) => {
    await page.goto(`${origin}/sign-in`);
    await page.locator('main button[type=submit]').click();
    await page.locator('[aria-invalid]').first().waitFor();
  },
  'an invitation': async (page, { origin, invitation }) => {
    await page.goto(`${origin}${invitation}`);
  },
  'a link that does not work': async (page, { origin }) => {
    await page.goto(`${origin}/invitation/${'A'.repeat(43)}`);
  },
  'asking for a new password': at('/reset'),
  'a new password': async (page, { origin, reset }) => {
    await page.goto(`${origin}${reset}`);
  },
  'nothing there for a stranger': at('/nothing'),
};

/** Every page of a merchant, as its owner sees it. */
export const merchantPages: Readonly<Record<string, VisitPage>> = {
  'confirming who one is': at('/confirm'),
  'nothing there': inSandbox('nothing'),
  keys: inSandbox('keys'),
  'keys, with a mistake': async (page, site) => {
    await inSandbox('keys')(page, site);
    await page.evaluate("document.querySelector('#label').removeAttribute('maxlength')");
    await page.locator('#label').fill('x'.repeat(65));
    await page.locator('main form button').first().click();
    await page.locator('[aria-invalid]').waitFor();
  },
  'a new key': async (page, site) => {
    await inSandbox('keys')(page, site);
    await page.locator('#label').fill('A very long label of a key & more <with> marks in it');
    await page.locator('main form button').first().click();
    await page.locator('#secret').waitFor();
  },
  webhooks: inSandbox('webhooks'),
  'a delivery': async (page, site) => {
    await inSandbox('webhooks')(page, site);
    await page.locator('a[href*="/deliveries/"]').first().click();
    await page.locator('#reason p').first().waitFor({ state: 'attached' });
  },
  'webhook endpoints': async (page, site) => {
    await inSandbox('webhooks/endpoints')(page, site);
    await page.locator('#url').fill('ftp://shop.example');
    await page.locator('main form button').last().click();
    await page.locator('[aria-invalid]').waitFor();
  },
  'a webhook endpoint': async (page, site) => {
    await inSandbox('webhooks/endpoints')(page, site);
    await page.locator('main td a[href*="/endpoints/"]').first().click();
    await page.locator('#secret').waitFor();
  },
  'signing secrets': inSandbox('webhooks/secrets'),
  'the quick start': inSandbox('quick-start?code=php'),
  home: inSandbox(''),
  'home, a month': inSandbox('?span=month'),
  orders: inSandbox('orders'),
  'orders, searched with a mistake': inSandbox('orders?amount_from=1&amount_to=x&status=completed'),
  'orders, none found': inSandbox('orders?number=nothing-like-it'),
  'an order': (page, site) => inSandbox(`orders/${site.paidOrderId}`)(page, site),
  'a refund, with a mistake': async (page, site) => {
    await inSandbox(`orders/${site.paidOrderId}/refund`)(page, site);
    await page.locator('main form button').click();
    await page.locator('[aria-invalid]').waitFor();
  },
  'a refund, to be confirmed': async (page, site) => {
    await inSandbox(`orders/${site.paidOrderId}/refund`)(page, site);
    await page.locator('#amount').fill('12.50');
    await page.locator('#reason').fill('The shoes came back & <b>too</b> small');
    await page.locator('main form button').click();
    await page.locator('main .facts').waitFor();
  },
  'a refund that waits for approval': (page, site) =>
    inSandbox(`refunds/${site.waitingRefundId}`)(page, site),
  refunds: inSandbox('refunds'),
  'stray payments of the merchant': inSandbox('stray-payments'),
  'refunds, searched with a mistake': inSandbox('refunds?from=yesterday'),
  'approval of refunds': (page, { origin, merchantId }) =>
    page.goto(`${origin}/m/${merchantId}/refund-approval`),
  'the wallets of the merchant': inSandbox('wallets'),
  'the accounts at a wallet': inSandbox('wallets/walleta'),
  'payment links': inSandbox('links'),
  'a new payment link': inSandbox('links/new'),
  'the team': (page, { origin, merchantId }) => page.goto(`${origin}/m/${merchantId}/team`),
  'the link of an invitation': async (page, { origin, merchantId }) => {
    await page.goto(`${origin}/m/${merchantId}/team`);
    await page.locator('#email').fill('sara@shop.example');
    await page.locator('main form button').first().click();
    await page.locator('#link').waitFor();
  },
  'the audit log': (page, { origin, merchantId }) => page.goto(`${origin}/m/${merchantId}/audit`),
  'the account': at('/account'),
};

/** Every page of an operator. */
export const operatorPages: Readonly<Record<string, VisitPage>> = {
  'keys, for an operator': async (page, site) => {
    await page.goto(`${site.origin}/m/${site.merchantId}/production/keys`);
  },
  'the overview': at('/operator'),
  merchants: at('/operator/merchants'),
  'one merchant': (page, { origin, merchantId }) => page.goto(`${origin}/operator/merchants/${merchantId}`),
  'orders of all merchants': at('/operator/orders?text=no-such-order'),
  'orders of all merchants, found': at('/operator/orders?text=PAID-1'),
  wallets: at('/operator/wallets?environment=sandbox'),
  'stray payments': at('/operator/stray-payments?environment=sandbox'),
  'what waits for a person': at('/operator/settlements'),
  'what waits for a person, with a mistake': async (page, { origin }) => {
    await page.goto(`${origin}/operator/settlements`);
    await page.locator('main summary').first().click();
    const form = page.locator('main details[open] form');
    await form.locator('input[name=reason]').fill('The wallet answered our case with a long explanation');
    await form.locator('input[type=radio]').first().check();
    // A blank passes the browser's own checks, and core refuses it.
    await form.locator('input[name=provider_reference]').fill(' ');
    await form.locator('button').click();
    await page.locator('main details[open] .alert-bad').waitFor();
  },
  reconciliations: at('/operator/reconciliations?environment=sandbox'),
  'balances of days': async (page, site) => {
    await at('/operator/balances?environment=sandbox')(page, site);
    await page.locator('main tbody .badge-warn').first().waitFor();
  },
  'personal data': at('/operator/personal-data'),
  'the pipeline': at('/operator/pipeline'),
  'endpoints in trouble': at('/operator/endpoints'),
  users: at('/operator/users'),
  'the audit log of all merchants': at('/operator/audit'),
  'API requests': inSandbox('requests'),
  'one API request': toRequest,
};
