import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { snippetLanguages } from '../../../src/dashboard/developers/snippets.ts';
import type { SnippetLanguage } from '../../../src/dashboard/developers/snippets.ts';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { callSandbox } from '../../support/sandbox-calls.ts';
import { sharedMerchant, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openDashboardDesk } from './dashboard-desk.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

// The examples of the quick start, copied from its page as a developer does, and run against the real processes. The
// examples that verify signatures come from docs/webhooks.md, which documented-snippets.test.ts runs.

/** The address of the API in the settings of a test's dashboard. */
const shownOrigin = 'http://127.0.0.1:8081';
const programs: Readonly<Record<SnippetLanguage, readonly [string, ...string[]]>> = {
  curl: ['bash', 'run.sh'],
  typescript: [process.execPath, 'run.ts'],
  python: ['python3', 'run.py'],
  php: ['php', '-d', 'display_errors=stderr', 'run.php'],
};
/** These programs are on every machine that runs the tests. Without them the test fails. */
const required: readonly SnippetLanguage[] = ['curl', 'typescript'];
const missing = (code: SnippetLanguage): boolean =>
  !required.includes(code) && spawnSync(programs[code][0], ['--version']).status !== 0;

let visitor: DashboardVisitor;
const folder = sharedFolder();

const stack = sharedStack({
  facades: 1,
  dashboards: 1,
  wallets: 1,
  walletTimeScale: 0.01,
  // The README prompts its phone twice in a round, so a second round with the same phone is refused.
  settings: { GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: '2' },
});
// The README's key is that of the demo merchant, which has the scope for refunds.
const merchant = sharedMerchant(stack, { mayRefund: true });
beforeAll(async () => {
  const desk = openDashboardDesk(stack);
  visitor = await desk.signedIn(await desk.users.member(merchant.id, MemberRole.DEVELOPER));
});

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** An example of the page, with the address of this test's API. */
async function shown(code: SnippetLanguage, what: string): Promise<string> {
  const { body } = await visitor.get(`/m/${merchant.id}/sandbox/quick-start?code=${code}`);
  const found = new RegExp(`<pre class="code" id="${what}"[^>]*>([^<]*)</pre>`).exec(body)?.[1];
  if (found === undefined) throw new Error(`the page has no example "${what}"`);
  return found
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => entities[entity] ?? entity)
    .replaceAll(shownOrigin, stack.facades[0]?.sandbox ?? '');
}

/** Runs a program in the folder, and returns what it printed. */
async function run(
  [program, ...args]: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, complaints] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (child.exitCode !== 0) throw new Error(`${program} ended with ${child.exitCode}: ${complaints}`);
  return output;
}

async function runShown(
  code: SnippetLanguage,
  what: string,
  settings: Readonly<Record<string, string>>,
): Promise<string> {
  await writeFile(join(folder, `run.${snippetLanguages[code]}`), await shown(code, what));
  return run(programs[code], { API_KEY: merchant.testKey, ...settings });
}

/** An order number and a phone, computed like those of the page or the README, which differ every second. */
async function settingsBy(lines: string, names: readonly string[]): Promise<Record<string, string>> {
  const second = (): number => Math.floor(Date.now() / 1000);
  const begunAt = second();
  await waitUntil('the next second has begun', () => second() > begunAt);
  const show = names.map((name) => `echo "$${name}"`).join('\n');
  const printed = await run(['bash', '-c', `${lines}\n${show}`], {});
  const values = printed.trim().split('\n');
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}

const completed = (orderNumber: string): Promise<Readonly<Record<string, string>>> =>
  waitUntil(`the phone has paid ${orderNumber}`, async () => {
    const found = await verify(orderNumber);
    return found['status'] === 'COMPLETED' ? found : undefined;
  });

const verify = async (orderNumber: string) =>
  (await callSandbox(stack, merchant, 'verify', { order_number: orderNumber })).data;

test('the lines of the README can be run again and again', async () => {
  const readme = await readFile(join(import.meta.dirname, '../../../README.md'), 'utf8');
  const blocks = [...readme.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
  const settingLines = blocks.find((block) => block.startsWith('ORDER=')) ?? '';
  const curls = blocks.filter((block) => block.startsWith('curl -s') && block.includes('$ORDER'));
  expect([settingLines === '', curls.length]).toEqual([false, 5]);

  for (let round = 0; round < 2; round += 1) {
    const settings = await settingsBy(settingLines, ['ORDER', 'PHONE']);
    for (const curl of curls) {
      const lines = curl.replaceAll(shownOrigin, stack.facades[0]?.sandbox ?? '');

      const printed = await run(['bash', '-c', lines], { KEY: merchant.testKey, ...settings });

      expect(printed).toMatch(/checkout_url|"Order found"|"payment_status":"PENDING"|"Refund accepted/);
      expect(printed).not.toMatch(/"code":[45]/);
      const [, ending] = /'\$ORDER'(-[a-z]+)/.exec(curl) ?? [];
      if (ending !== undefined) await completed(`${settings['ORDER']}${ending}`);
    }
  }
});

describe.each(Object.keys(snippetLanguages) as SnippetLanguage[])('the examples in %s', (code) => {
  const isMissing = missing(code);
  const check = isMissing ? test.skip : test;
  const why = isMissing ? ` (skipped: ${programs[code][0]} is not on this machine)` : '';

  check(`register an order, ask a phone for money, and ask where the order stands${why}`, async () => {
    const lines = (await shown(code, 'settings')).replace(/^export API_KEY=.*$/m, '');
    const names = ['ORDER_NUMBER', 'PHONE'];
    // The lines are the same for each language.
    const earlier = code === 'curl' ? await settingsBy(lines, names) : {};
    const settings = await settingsBy(lines, names);
    const orderNumber = settings['ORDER_NUMBER'] ?? '';
    const registered = await runShown(code, 'register', settings);
    const direct = await runShown(code, 'direct', settings);
    const asked = await runShown(code, 'ask', settings);

    for (const name of names) expect(settings[name]).not.toBe(earlier[name]);
    expect(registered).toContain('checkout_url');
    expect(direct).toContain('payment_status');
    expect(asked).toContain(orderNumber);
    expect(asked).toContain('PENDING');
    expect((await verify(orderNumber))['customer_phone']).toBe(settings['PHONE']);
    expect(await completed(`${orderNumber}-direct`)).toMatchObject({
      payment_type: 'DIRECT',
      amount: '100.50',
    });
  });
});
