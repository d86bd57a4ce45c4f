import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import type { TestUser } from '../support/dashboard-users.ts';
import { expectAccessible, keepPicture, languages } from './accessible.ts';
import type { Language } from './accessible.ts';
import { merchantPages, operatorPages, publicPages } from './dashboard-pages.ts';
import { openDashboardSite } from './dashboard-site.ts';
import type { DashboardSite } from './dashboard-site.ts';

type Session = Awaited<ReturnType<BrowserContext['storageState']>>;

let site: DashboardSite;
/** Of who has signed in, so that nobody signs in for each page. */
const sessions = new Map<TestUser, Session>();

beforeAll(async () => {
  site = await openDashboardSite();
});
afterAll(() => site.close());

async function openAs(user: TestUser | undefined, locale: Language): Promise<Page> {
  if (user === undefined) return site.open(undefined, { locale });
  let storageState = sessions.get(user);
  if (storageState === undefined) {
    const page = await site.open(user);
    storageState = await page.context().storageState();
    sessions.set(user, storageState);
    await page.context().close();
  }
  return site.open(undefined, { locale, storageState });
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
        const page = await openAs(user(), language);
        try {
          const errors: string[] = [];
          page.on('pageerror', ({ message }) => errors.push(message));
          page.on('console', (message) => {
            if (message.type() === 'error' && !isStatus(message.text())) errors.push(message.text());
          });
          await visit(page, site);
          await page.evaluate(
            "document.querySelectorAll('main details').forEach((fold) => (fold.open = true))",
          );

          await expectAccessible(page, language);
          await keepPicture(page, `${who}-${name}-${language}`);
          expect(errors).toEqual([]);
          expect(await page.title()).not.toBe('run');
        } finally {
          await page.context().close();
        }
      },
    );
  });
});
