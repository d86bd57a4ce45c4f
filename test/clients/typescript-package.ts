import { beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { findNode20 } from '../../scripts/node-20.ts';
import { launchChromium } from '../support/chromium.ts';
import { newNumber, newPhone } from './client-site.ts';
import type { ClientSite } from './client-site.ts';
import { packTypeScriptClient } from './packed-client.ts';
import type { PackedClient } from './packed-client.ts';
import { sharedFolder } from '../support/shared-folder.ts';

const nodeModules = join(import.meta.dirname, '..', '..', 'node_modules');
const execute = promisify(execFile);
const node20 = findNode20();

/** The tests of the TypeScript client's package, as a shop installs it. */
export function testTypeScriptPackage(site: () => ClientSite): void {
  const folder = sharedFolder();
  let client: PackedClient;
  /** The code of the README. */
  let snippets: readonly string[];
  beforeAll(async () => {
    client = await packTypeScriptClient(folder);
    const readme = await readFile(join(client.installed, 'README.md'), 'utf8');
    snippets = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
  });

  /** Runs the first lines of the README, which are JavaScript too. */
  async function runFirstLines(node: string): Promise<string> {
    const file = join(client.shop, `${newNumber()}.mjs`);
    await writeFile(file, (snippets[0] ?? '').replace('0911223344', newPhone()));
    const env = { ...process.env, API_KEY: site().test_key, GATEHOUSE: site().sandbox_url };
    return (await execute(node, [file], { env })).stdout;
  }

  test('the package contains all files that it needs, and the first example of its README compiles and runs', async () => {
    expect(client.files.filter((name) => !/^dist\/[a-z-]+\.(js|d\.ts)$/.test(name)).sort()).toEqual([
      'README.md',
      'package.json',
    ]);
    expect(snippets[0]?.split('\n').length).toBeLessThanOrEqual(12);
    for (const [index, code] of snippets.entries())
      await writeFile(join(client.shop, `readme-${index}.mts`), code);
    const strict = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
    // The libraries of TypeScript itself need no check. That takes a third of the time.
    const libraries = ['--skipDefaultLibCheck', '--typeRoots', join(nodeModules, '@types')];
    const files = snippets.map((_, index) => `readme-${index}.mts`);
    const compiler = join(nodeModules, 'typescript/bin/tsc');
    const [ran] = await Promise.all([
      runFirstLines(process.execPath),
      execute(process.execPath, [compiler, ...strict, ...libraries, ...files], { cwd: client.shop }),
    ]);
    expect(ran).toBe('COMPLETED 150.00\n');
  });

  (node20 === undefined ? test.skip : test)(
    `the first lines of the README run on Node 20${node20 === undefined ? ' (not tested: npm test could not install it)' : ''}`,
    async () => {
      expect(await runFirstLines(node20 ?? '')).toBe('COMPLETED 150.00\n');
    },
  );

  test('the client runs in Chromium on the page of the gateway itself, and no page of another origin can call the gateway', async () => {
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      // A shop's bundler would serve the modules. Here the test does.
      await page.route('**/client/*.js', async (route) => {
        const file = join(client.installed, 'dist', basename(new URL(route.request().url()).pathname));
        await route.fulfill({ contentType: 'text/javascript', body: await readFile(file) });
      });
      const call = (baseUrl: string): Promise<unknown> =>
        page.evaluate(`(async () => {
          const { ConnectionError, Gatehouse } = await import('/client/gatehouse-client.js');
          const gateway = new Gatehouse({ apiKey: '${site().test_key}', baseUrl: '${baseUrl}', retries: 0 });
          const order_number = '${newNumber()}';
          const payment = { order_number, amount: '150.00', currency: 'ETB', phone: '${newPhone()}' };
          try {
            await gateway.direct({ ...payment, payment_option: 'walleta_ussd' });
            const order = await gateway.wait(order_number);
            return order.status + ' ' + order.deducted;
          } catch (error) {
            return error instanceof ConnectionError ? 'no connection' : String(error);
          }
        })()`);

      await page.goto(`${site().sandbox_url}/docs`);
      expect(await call(site().sandbox_url)).toBe('COMPLETED 150.00');
      await page.goto(site().mailbox_url);
      expect(await call(site().sandbox_url)).toBe('no connection');
    } finally {
      await browser.close();
    }
  });
}
