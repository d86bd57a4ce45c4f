import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startClientSite } from './client-site.ts';
import type { RunningSite } from './client-site.ts';
import { languageTests, runLanguageTests } from './language-tests.ts';
import { testTypeScriptClient } from './typescript-client.ts';

let running: RunningSite;
/** The tests in other languages run while those in TypeScript do. */
const outputs = new Map<string, Promise<string>>();
beforeAll(async () => {
  running = await startClientSite();
  for (const tests of languageTests) {
    if (tests.missing !== undefined) continue;
    const output = runLanguageTests(tests, running.site);
    // The test of the language reports a failure.
    output.catch(() => undefined);
    outputs.set(tests.language, output);
  }
});
afterAll(async () => {
  await Promise.allSettled(outputs.values());
  await running.stop();
});

describe('the TypeScript client', () => testTypeScriptClient(() => running.site));

for (const { language, missing, countPassed, atLeast } of languageTests) {
  const testOrSkip = missing === undefined ? test : test.skip;
  const reason = missing === undefined ? '' : ` (not tested: ${missing})`;
  testOrSkip(`the client in ${language} passes its own tests${reason}`, async () => {
    const output = (await outputs.get(language)) ?? '';
    expect(countPassed(output)).toBeGreaterThanOrEqual(atLeast);
    expect(output).not.toMatch(/skipped|--- SKIP/);
  });
}
