import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { findChromium } from '../../scripts/chromium.ts';

/**
 * Starts the system's Chromium without its own network requests. Every host of `.test` is this machine, over a
 * connection that browsers do not trust. Close it at the end, also after a failure.
 */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium() ?? 'chromium',
    args: [
      '--no-sandbox',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--host-resolver-rules=MAP *.test 127.0.0.1',
    ],
  });
}
