import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startCallbackReceiver } from './callback-receiver.ts';
import { startSimulator } from './simulator-under-test.ts';
import type { Json, SimulatorUnderTest } from './simulator-under-test.ts';

const payer = '+251911223344';

let simulator: SimulatorUnderTest;
beforeEach(async () => {
  simulator = await startSimulator({ interactive: true });
});
afterEach(() => simulator.close());

const idOf = async (): Promise<string> => String((await simulator.prompts())[0]?.['id']);
const decide = (id: string, decision: string, headers: Readonly<Record<string, string>> = {}) =>
  simulator.send(`/simulator/prompts/${id}/${decision}`, { method: 'POST', headers });

describe('an interactive simulator', () => {
  /** The decision, the end of the payment, and what the callback says, if there is one. */
  test.each([
    ['approve', 'completed', { transactionStatus: 'completed' }],
    ['decline', 'failed', { errorCategory: 'authorisation', errorCode: 'requestDeclined' }],
    ['time_out', 'failed', { errorCategory: 'businessRule', errorCode: 'genericError' }],
    ['lose_answer', 'completed', undefined],
  ])('keeps a payment open until a person decides: %s', async (decision, status, told) => {
    const receiver = await startCallbackReceiver();
    await simulator.pay(payer, { callbackUrl: receiver.url });
    simulator.time.pass(60_000);
    const waiting = await simulator.prompts();

    const answer = await decide(await idOf(), decision);
    if (told !== undefined) await receiver.wait(1);
    await receiver.close();

    expect(waiting).toMatchObject([
      { status: 'open', awaits_person: true, payer: '251911223344', amount: '100.5' },
    ]);
    expect(answer).toMatchObject({ status: 200, json: { status } });
    expect(receiver.received).toMatchObject(told === undefined ? [] : [{ json: told }]);
    if (told === undefined) expect(answer.json).toMatchObject({ callbacks: [{ answer: 'lost' }] });
    expect(await simulator.charges(payer)).toHaveLength(status === 'completed' ? 1 : 0);
    expect((await simulator.send('/live')).text.includes('The answer was lost')).toBe(told === undefined);
  });

  test('lets an unanswered payment expire', async () => {
    await simulator.pay(payer);
    simulator.time.pass(120_000);

    expect(await simulator.prompts()).toMatchObject([
      { status: 'failed', error: { provider_code: 'expired' } },
    ]);
    expect((await decide(await idOf(), 'approve')).status).toBe(409);
  });

  test('prompts no payer for numbers with a fixed outcome', async () => {
    await simulator.pay('251900000000');
    simulator.time.pass(1_000);

    expect(await simulator.charges()).toHaveLength(1);
  });

  test('decides once, however often the buttons are clicked', async () => {
    await simulator.pay(payer);
    const id = await idOf();

    const answers = await Promise.all([
      decide(id, 'approve'),
      decide(id, 'approve'),
      decide(id, 'decline'),
      decide(id, 'approve'),
    ]);

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect((await simulator.charges()).length).toBeLessThanOrEqual(1);
  });
});

test('a payment that stays pending can be ended by hand, and an unknown one gets 404', async () => {
  await simulator.pay('251900000020');

  expect((await decide(await idOf(), 'approve')).json).toMatchObject({ status: 'completed' });
  expect((await decide('1', 'approve')).status).toBe(404);
});

describe('the admin API', () => {
  test('lists charges and prompts by wallet, payer, status and correlation id', async () => {
    await simulator.close();
    simulator = await startSimulator({ gsma: ['walleta', 'walletb'] });
    await simulator.pay('251900000000', { correlationId: '0198c0de-0000-7000-8000-000000000001' });
    await simulator.pay('251700000001', { wallet: 'walletb' });
    simulator.time.pass(1_000);
    const count = async (path: string, field: string) =>
      ((await simulator.send(path)).json[field] as readonly Json[]).length;

    expect(await count('/simulator/charges', 'charges')).toBe(1);
    expect(await count('/simulator/charges?payer=%2B251900000000', 'charges')).toBe(1);
    expect(await count('/simulator/charges?payer=+251900000000', 'charges')).toBe(1);
    expect(await count('/simulator/charges?wallet=walletb', 'charges')).toBe(0);
    expect(await count('/simulator/prompts?wallet=walletb&status=failed', 'prompts')).toBe(1);
    expect(
      await count('/simulator/charges?correlation_id=0198C0DE-0000-7000-8000-000000000001', 'charges'),
    ).toBe(1);
    expect(await count('/simulator/requests?wallet=walleta', 'requests')).toBe(1);
  });

  test('lists every account of the ledger, and their sum is zero', async () => {
    await simulator.pay('251900000000');
    simulator.time.pass(1_000);

    const { json } = await simulator.send('/simulator/accounts?wallet=walleta');

    const accounts = json['accounts'] as readonly { account: string; balance: string }[];
    expect(accounts).toContainEqual(
      expect.objectContaining({ account: 'accountid@2999', balance: '2290.5' }),
    );
    expect(accounts).toContainEqual(
      expect.objectContaining({ account: 'wallet@issuer', balance: '-2290.5' }),
    );
  });

  test.each(['https://elsewhere.example', 'null'])('refuses forms of the pages of %s', async (origin) => {
    await simulator.pay(payer);

    const answer = await decide(await idOf(), 'approve', { origin });

    expect(answer.status).toBe(403);
    expect(await simulator.prompts()).toMatchObject([{ status: 'open' }]);
  });
});

describe('the page', () => {
  test('shows each prompt with its payer, and buttons that need no JavaScript', async () => {
    await simulator.pay(payer, { body: { descriptionText: 'Two coffees', subType: 'wallet' } });
    const { text, headers } = await simulator.send('/');
    const [action = ''] = /\/simulator\/prompts\/[0-9a-f-]+\/approve/.exec(text) ?? [];

    const pressed = await simulator.send(action, {
      method: 'POST',
      body: '',
      headers: {
        accept: 'text/html',
        'content-type': 'application/x-www-form-urlencoded',
        origin: simulator.origin,
      },
    });

    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('referrer-policy')).toBe('same-origin');
    expect(text).toContain('100.5 ETB');
    expect(text).toContain('+251911223344');
    expect(text).toContain('Two coffees');
    expect(pressed.status).toBe(303);
    expect(pressed.headers.get('location')).toBe('/');
    const after = (await simulator.send('/')).text;
    expect(after).not.toContain('<form');
    expect(after).toMatch(/Charges[^]*\+251911223344, walleta/);
  });

  test('shows texts of clients as text', async () => {
    await simulator.pay(payer, { body: { descriptionText: '<script>alert("1")</script>' } });

    const { text } = await simulator.send('/live');

    expect(text).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;');
    expect(text).not.toContain('<script');
  });

  test('says when there are no prompts yet, loads nothing from another host, and has no inline script or style', async () => {
    const { text, headers } = await simulator.send('/');
    expect(text).toContain('No payment has been requested yet.');
    expect(text).toContain('No payer has been charged yet.');
    const loaded = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url);

    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'/);
    expect(headers.get('content-security-policy')).not.toMatch(/unsafe/);
    expect(loaded).toEqual(['/page.css', 'data:,', '/page.js']);
    expect(text).not.toMatch(/ style=|<style| on[a-z]+=/);
    for (const path of ['/page.css', '/page.js']) expect((await simulator.send(path)).status).toBe(200);
  });
});
