import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** The violations of all rules of axe: WCAG 2.2 at A and AA, and best practices. */
export async function problemsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>(
    'axe.run(document, { resultTypes: ["violations"] })',
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** The languages of all pages. */
export const languages = ['en', 'am'] as const;
export type Language = (typeof languages)[number];

/** The two languages together show a page at both widths and in both colour schemes. */
const views = {
  en: { width: 1280, colorScheme: 'light' },
  am: { width: 360, colorScheme: 'dark' },
} as const;

/** 320 px is what 1280 px at 400 % come to (WCAG 2.2, 1.4.10). */
const widths = [320, 360, 1280];

/** Fails unless the page is in this language, fits every width, and axe finds no violation. */
export async function expectAccessible(page: Page, language: Language): Promise<void> {
  expect(await page.locator('html').getAttribute('lang')).toBe(language);
  for (const width of widths) {
    await page.setViewportSize({ width, height: 740 });
    expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([width, width]);
  }
  const { width, colorScheme } = views[language];
  await page.setViewportSize({ width, height: 740 });
  // A colour that changes gradually has a wrong contrast on its way.
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  expect([width, colorScheme, await problemsOf(page)]).toEqual([width, colorScheme, []]);
}

/** Writes a picture for people to look at, when GATEHOUSE_TEST_PICTURES names a folder. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env['GATEHOUSE_TEST_PICTURES'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
