import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { findChromium } from '../../scripts/chromium.mjs';
import { hangMs } from './wait-until.ts';

/**
 * Starts the system's Chromium without its own network requests. Every host of `.test` is this machine, over a
 * connection that browsers do not trust. Its pages wait long enough for a busy machine. Close it at the end, even after
 * a failure.
 */
export async function launchChromium(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findChromium() ?? 'chromium',
    args: [
      '--no-sandbox',
      // Pages of one site share a process, because a new one for each page takes a third of the tests' processor time.
      '--process-per-site',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--host-resolver-rules=MAP *.test 127.0.0.1',
    ],
  });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(hangMs);
    return context;
  };
  return browser;
}
