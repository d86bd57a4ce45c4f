import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writePlugin } from '../../scripts/woocommerce-plugin.ts';
import { startClientSite } from './client-site.ts';
import type { RunningSite } from './client-site.ts';
import { languageTests, runLanguageTests } from './language-tests.ts';
import { testTypeScriptClient } from './typescript-client.ts';
import { testTypeScriptPackage } from './typescript-package.ts';

let running: RunningSite;
let plugin: string;
/** The tests in other languages run while those in TypeScript do. */
const outputs = new Map<string, Promise<string>>();
beforeAll(async () => {
  plugin = await mkdtemp(join(tmpdir(), 'gatehouse-plugin-'));
  [running] = await Promise.all([startClientSite(), writePlugin(plugin)]);
  for (const tests of languageTests) {
    if (tests.missing !== undefined) continue;
    const output = runLanguageTests(tests, running.site, plugin);
    // The test of the language reports a failure.
    output.catch(() => undefined);
    outputs.set(tests.client, output);
  }
});
afterAll(async () => {
  await Promise.allSettled(outputs.values());
  await running.stop();
  await rm(plugin, { recursive: true });
});

describe('the TypeScript client', () => {
  testTypeScriptClient(() => running.site);
  testTypeScriptPackage(() => running.site);
});

for (const { client, missing, countPassed, atLeast } of languageTests) {
  const testOrSkip = missing === undefined ? test : test.skip;
  const reason = missing === undefined ? '' : ` (not tested: ${missing})`;
  testOrSkip(`${client} passes its own tests${reason}`, async () => {
    const output = (await outputs.get(client)) ?? '';
    expect(countPassed(output)).toBeGreaterThanOrEqual(atLeast);
    expect(output).not.toMatch(/skipped|--- SKIP/);
  });
}
