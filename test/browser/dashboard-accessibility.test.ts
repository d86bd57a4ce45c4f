import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { TestUser } from '../support/dashboard-users.ts';
import { expectAccessible, keepPicture, languages } from './accessible.ts';
import type { Language } from './accessible.ts';
import { merchantPages, operatorPages, publicPages } from './dashboard-pages.ts';
import { openDashboardSite } from './dashboard-site.ts';
import type { DashboardSite } from './dashboard-site.ts';

let site: DashboardSite;
/** The opened pages by user and language, because opening one and signing in takes longer than visiting it. */
const opened = new Map<string, OpenedPage>();

interface OpenedPage {
  readonly page: Page;
  /** The errors of the page and of its console so far. */
  readonly errors: string[];
}

beforeAll(async () => {
  site = await openDashboardSite();
});
afterAll(() => site.close());

async function pageOf(who: string, user: TestUser | undefined, locale: Language): Promise<OpenedPage> {
  const key = `${who} ${locale}`;
  const known = opened.get(key);
  if (known !== undefined) return known;
  const page = await site.open(user, { locale });
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !isStatus(message.text())) errors.push(message.text());
  });
  opened.set(key, { page, errors });
  return { page, errors };
}

/** What the pages about refusals are answered with is no error of theirs. */
const isStatus = (text: string): boolean => /status of 4\d\d/.test(text);

describe.each([
  ['nobody', publicPages, () => undefined],
  ['an owner', merchantPages, () => site.owner],
  ['an operator', operatorPages, () => site.operator],
])('for %s', (who, pages, user) => {
  describe.each(Object.entries(pages))('%s', (name, visit) => {
    test.each(languages)(
      'in %s: axe finds nothing, the console is silent, and nothing has to be scrolled sideways',
      async (language) => {
        const { page, errors } = await pageOf(who, user(), language);
        await page.setViewportSize({ width: 1280, height: 740 });
        await visit(page, site);
        await page.evaluate(
          "document.querySelectorAll('main details').forEach((fold) => (fold.open = true))",
        );

        await expectAccessible(page, language);
        await keepPicture(page, `${who}-${name}-${language}`);
        expect(errors.splice(0)).toEqual([]);
        expect(await page.title()).not.toBe('run');
      },
    );
  });
});
