import type { Page } from 'playwright-core';
import type { TestUser } from '../support/dashboard-users.ts';

/** A merchant of a running dashboard, with somebody to look at it. */
export interface DashboardSite {
  readonly origin: string;
  readonly merchantId: string;
  readonly owner: TestUser;
  readonly operator: TestUser;
  /** Paths of one-time links, each of which still works. */
  readonly invitation: string;
  readonly reset: string;
}

/** Brings a browser to a page of the dashboard. */
export type VisitPage = (page: Page, site: DashboardSite) => Promise<void>;

/** Signs in and comes to the first page. */
export async function signIn(page: Page, { origin }: DashboardSite, user: TestUser): Promise<void> {
  await page.goto(`${origin}/sign-in`);
  await page.locator('#email').fill(user.email);
  await page.locator('#password').fill(user.password);
  await page.locator('main button[type=submit]').first().click();
  await page.locator('.menu-user').waitFor();
}

/** A page of the merchant's sandbox, as its owner sees it. */
const inSandbox =
  (path: string): VisitPage =>
  async (page, site) => {
    await signIn(page, site, site.owner);
    await page.goto(`${site.origin}/m/${site.merchantId}/sandbox/${path}`);
  };

const unfold = async (page: Page): Promise<void> => {
  for (const fold of await page.locator('main summary').all()) await fold.click();
};

/** Every page of the foundation, by name, and how somebody gets to see it. */
export const dashboardPages: Readonly<Record<string, VisitPage>> = {
  'signing in': async (page, { origin }) => {
    await page.goto(`${origin}/sign-in`);
  },
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
  'asking for a new password': async (page, { origin }) => {
    await page.goto(`${origin}/reset`);
  },
  'a new password': async (page, { origin, reset }) => {
    await page.goto(`${origin}${reset}`);
  },
  'confirming who one is': async (page, site) => {
    await signIn(page, site, site.owner);
    await page.goto(`${site.origin}/confirm`);
  },
  'nothing there': async (page, site) => {
    await signIn(page, site, site.owner);
    await page.goto(`${site.origin}/m/${site.merchantId}/sandbox/nothing`);
  },
  'nothing there for a stranger': async (page, { origin }) => {
    await page.goto(`${origin}/nothing`);
  },
  keys: async (page, site) => {
    await inSandbox('keys')(page, site);
    await unfold(page);
  },
  'keys, for an operator': async (page, site) => {
    await signIn(page, site, site.operator);
    await page.goto(`${site.origin}/m/${site.merchantId}/production/keys`);
  },
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
  webhooks: async (page, site) => {
    await inSandbox('webhooks')(page, site);
    await unfold(page);
  },
  'a delivery': async (page, site) => {
    await inSandbox('webhooks')(page, site);
    await page.locator('a[href*="/deliveries/"]').first().click();
    await page.locator('#reason p').first().waitFor({ state: 'attached' });
    await unfold(page);
  },
  'signing secrets': async (page, site) => {
    await inSandbox('webhooks/secrets')(page, site);
    await unfold(page);
  },
  'the quick start': inSandbox('quick-start?code=php'),
};
