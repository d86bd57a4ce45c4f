import { describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { waitUntil } from '../support/wait-until.ts';
import { expectAccessible, languages } from './accessible.ts';
import type { Language } from './accessible.ts';
import { openCheckoutSite } from './checkout-site.ts';
import { everyPage } from './every-page.ts';
import { shared } from '../support/shared-stack.ts';

const site = shared(openCheckoutSite);

interface OpenedPage {
  readonly context: BrowserContext;
  readonly page: Page;
  /** The violations of the content security policy and the errors of scripts so far. */
  readonly complaints: string[];
}

/** One page a language, because opening one takes longer than visiting it. */
const opened = new Map<Language, OpenedPage>();

/** A page of a customer whom the site does not know. */
async function pageIn(locale: Language): Promise<OpenedPage> {
  const known = opened.get(locale);
  if (known !== undefined) {
    await known.page.unrouteAll();
    await known.context.clearCookies();
    return known;
  }
  const context = await site.browser.newContext({ locale });
  const complaints: string[] = [];
  context.on('console', (message) => {
    if (/content security policy/i.test(message.text())) complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(error.error().message));
  const made = { context, page: await context.newPage(), complaints };
  opened.set(locale, made);
  return made;
}

/** Long pages, on which mistakes and refusals stand above the button that is pressed next. */
const longPages = new Set([
  'pay, a test, everything long and folded out',
  'pay, with mistakes',
  'try again',
  'confirm, a wrong number',
  'confirm, too late to cancel',
]);

/** The lower edge of the page's main button, in pixels of the page; 0 when it has none. */
const mainButtonEnd = `Math.max(0, ...[...document.querySelectorAll('.button:not(.button-quiet)')]
  .filter((button) => button.checkVisibility())
  .map((button) => button.getBoundingClientRect().bottom + scrollY))`;

/** Buttons that are less than 8 px away from something else that can be pressed. */
const crowdedButtons = `[...document.querySelectorAll('.button')].filter((button) => {
  const own = button.getBoundingClientRect();
  return button.checkVisibility() && [...document.querySelectorAll('a, button, summary, input, label')].some((other) => {
    const box = other.getBoundingClientRect();
    return other !== button && other.checkVisibility() && !(box.top >= own.bottom + 8 || box.bottom <= own.top - 8 ||
      box.left >= own.right + 8 || box.right <= own.left - 8);
  });
}).map((button) => button.textContent)`;

/** The maximum for the page and everything that it loads, with headers, uncompressed. */
const limitBytes = 60_000;

/** The bytes that come over the network when the address is opened in a new tab, all of them from our own host. */
async function weigh(context: BrowserContext, url: string): Promise<number> {
  const page = await context.newPage();
  const foreign: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${site.origin}/`)) foreign.push(request.url());
  });
  // A tab that keeps nothing stays, where another one would open the wallet's page by itself.
  await page.addInitScript("Object.defineProperty(window, 'sessionStorage', { get: () => null })");
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
  let bytes = 0;
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.goto(url, { waitUntil: 'load' });
  await page.evaluate('[...document.images].forEach((image) => { image.loading = "eager"; })');
  await waitUntil('all images are there', () =>
    page.evaluate<boolean>('[...document.images].every((image) => image.complete)'),
  );
  expect(foreign).toEqual([]);
  await page.close();
  return bytes;
}

/**
 * The earlier page may navigate by itself when its order ends, which would abort the next navigation. An empty page
 * does not.
 */
async function leave(page: Page): Promise<void> {
  await waitUntil('the page is empty', async () => {
    await page.goto('about:blank').catch(() => undefined);
    return page.url() === 'about:blank';
  });
}

describe.each(Object.entries(everyPage))('%s', (name, visit) => {
  test.each(languages)(
    'in %s, the page is accessible, fits the width with normal and large text, shows its main button, and weighs little',
    async (language) => {
      const { context, page, complaints } = await pageIn(language);
      await page.setViewportSize({ width: 390, height: 844 });
      await leave(page);
      await visit(page, site.orders, site.origin);
      const url = page.url();

      expect(await page.evaluate(crowdedButtons)).toEqual([]);
      if (!longPages.has(name)) expect(await page.evaluate<number>(mainButtonEnd)).toBeLessThanOrEqual(844);
      await expectAccessible(page, language);
      // The same page takes more bytes in Amharic than in English.
      if (language === 'am') {
        const bytes = await weigh(context, url);
        expect(bytes).toBeGreaterThan(5_000);
        expect(bytes).toBeLessThan(limitBytes);
      }
      expect(complaints.splice(0)).toEqual([]);
    },
  );
});
