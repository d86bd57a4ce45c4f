import { afterAll, beforeAll, describe } from '@jest/globals';
import { startClientSite } from './client-site.ts';
import type { RunningSite } from './client-site.ts';
import { testTypeScriptClient } from './typescript-client.ts';

let running: RunningSite;
beforeAll(async () => {
  running = await startClientSite();
});
afterAll(() => running.stop());

describe('the TypeScript client', () => testTypeScriptClient(() => running.site));
