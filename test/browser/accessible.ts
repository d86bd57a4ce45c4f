import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The violations of axe's rules, by default of all: WCAG 2.2 at A and AA, and best practices. */
export async function problemsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe);
  const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) };
  const { violations } = await page.evaluate<AxeResults>(`axe.run(document, ${JSON.stringify(options)})`);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** The languages of all pages. */
export const languages = ['en', 'am'] as const;
export type Language = (typeof languages)[number];

/** The rules that depend on the language, the width or the colours. All others depend on the markup, which the languages share. */
const rulesOfViews = [
  'color-contrast',
  'html-has-lang',
  'html-lang-valid',
  'link-in-text-block',
  'scrollable-region-focusable',
  'target-size',
  'valid-lang',
];

/** The two languages together show axe a page at both ends of the widths and in both colour schemes. */
const views = {
  en: { width: 1280, colorScheme: 'light', rules: undefined },
  am: { width: 320, colorScheme: 'dark', rules: rulesOfViews },
} as const;

/**
 * A page of 1280 px at 400 % is 320 px wide (WCAG 2.2, 1.4.10), and its text can have 200 % (1.4.4). A menu beside the page
 * leaves the least room at 1024 px. The last size is that of the language's view, because Chromium draws the page for each change of width.
 */
const least = [
  { width: 320, textSize: '32px' },
  { width: 320, textSize: '' },
];
const [middle, most] = [
  { width: 1024, textSize: '' },
  { width: 1280, textSize: '' },
];
const sizes = { en: [...least, middle, most], am: [most, middle, ...least] };

/**
 * Fails unless the page is in this language, fits every width, the least one also with large text, and axe finds no
 * violation. Every rule of axe runs in English.
 */
export async function expectAccessible(page: Page, language: Language): Promise<void> {
  expect(await page.locator('html').getAttribute('lang')).toBe(language);
  for (const { width, textSize } of sizes[language]) {
    await page.setViewportSize({ width, height: 740 });
    const found = await page.evaluate(
      `document.documentElement.style.fontSize = '${textSize}', document.documentElement.scrollWidth`,
    );
    expect([width, textSize, found]).toEqual([width, textSize, width]);
  }
  const { width, colorScheme, rules } = views[language];
  await page.setViewportSize({ width, height: 740 });
  // A colour in a transition has a wrong contrast for a moment.
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  expect([width, colorScheme, await problemsOf(page, rules)]).toEqual([width, colorScheme, []]);
}

/** Writes a picture for people to look at, when GATEHOUSE_TEST_PICTURES names a folder. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env['GATEHOUSE_TEST_PICTURES'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
