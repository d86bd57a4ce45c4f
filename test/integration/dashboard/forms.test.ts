import { beforeAll, describe, expect, test } from '@jest/globals';
import { headingOf } from '../../support/customer.ts';
import { formTokenOf, hiddenField } from '../../support/dashboard-visitor.ts';
import type { TestMerchant } from '../../support/stack.ts';
import { openDashboardDesk } from './dashboard-desk.ts';
import type { DashboardDesk } from './dashboard-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

let desk: DashboardDesk;
let merchant: TestMerchant;

const stack = sharedStack({ facades: 0, dashboards: 1 });
beforeAll(async () => {
  desk = openDashboardDesk(stack);
  merchant = await stack.createMerchant();
});

const keysPage = (): string => `/m/${merchant.id}/sandbox/keys`;
const stepUpMs = 10 * 60_000;

describe('a form is taken from our own pages alone:', () => {
  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of our domain', { 'sec-fetch-site': 'same-site' }],
    ['another origin, in a browser without Sec-Fetch-Site', { origin: 'https://evil.example' }],
  ])('not from %s', async (_name, headers) => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await visitor.get(keysPage());

    const answer = await visitor.post(keysPage(), { label: 'foreign' }, headers);

    expect([answer.status, headingOf(answer)]).toEqual([403, 'This request did not come from our page']);
    expect((await visitor.get(keysPage())).body).not.toContain('foreign');
  });

  test.each([
    ['without a token', ''],
    ['with a token that is made up', 'abcdefgh-abcdefghijklmnopqrstuvwxyzabcdefghijk'],
  ])('not %s', async (_name, token) => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));

    const { status } = await visitor.post(keysPage(), { _csrf: token });

    expect(status).toBe(403);
  });

  test('not with a method that the framework refuses, which is not our failure', async () => {
    const { status } = await fetch(`${stack.dashboards[0]!.origin}/sign-in`, { method: 'QUERY' });

    expect(status).toBe(400);
  });

  test("not with the token of somebody else's page", async () => {
    const [visitor, other] = await Promise.all([
      desk.signedIn(await desk.users.member(merchant.id)),
      desk.signedIn(await desk.users.member(merchant.id)),
    ]);
    const token = formTokenOf(await other.get(keysPage()));

    expect((await visitor.post(keysPage(), { _csrf: token })).status).toBe(403);
  });

  test('signing in is a form like any other', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = desk.visitor();
    await visitor.get('/sign-in');

    const answer = await visitor.post('/sign-in', { ...user }, { 'sec-fetch-site': 'cross-site' });

    expect(answer.status).toBe(403);
    expect(visitor.cookies.has('gatehouse_session')).toBe(false);
  });

  test.each([
    ['JSON', 'application/json', '{}'],
    ['a form with files', 'multipart/form-data; boundary=x', '--x--'],
    ['more than a form comes to', 'application/x-www-form-urlencoded', `label=${'x'.repeat(100_000)}`],
  ])('not as %s', async (_name, type, body) => {
    const answer = await fetch(`${stack.dashboards[0]?.origin}/sign-in`, {
      method: 'POST',
      headers: { 'content-type': type, 'sec-fetch-site': 'same-origin' },
      body,
    });

    expect(answer.status).toBe(400);
  });
});

describe('a form that comes too late', () => {
  test('is kept over the sign-in, and sent again when its sender says so', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = await desk.signedIn(user);
    await visitor.get(keysPage());
    await desk.end(visitor);

    const late = await visitor.post(keysPage(), { label: 'Kept <b>label</b>', password: 'never kept' });
    const carried = hiddenField(late, 'carried') ?? '';
    const entered = await visitor.post('/sign-in', { ...user, carried });
    const shown = await visitor.get('/carry-on');
    const sent = await visitor.post(hiddenTarget(shown.body), { label: 'Kept <b>label</b>' });

    expect([late.status, headingOf(late)]).toEqual([401, 'Sign in']);
    expect(late.body).toContain('Your entries are kept');
    expect(Buffer.from(carried, 'base64url').toString()).not.toMatch(/never kept|_csrf/);
    expect(entered.headers.get('location')).toBe('/carry-on');
    expect(shown.body).toContain('Kept &lt;b&gt;label&lt;/b&gt;');
    expect(headingOf(sent)).toBe('Your new key');
    expect((await visitor.get(keysPage())).body).toContain('Kept &lt;b&gt;label&lt;/b&gt;');
  });

  test('is shown again until it is sent or left', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = await desk.signedIn(user);
    await desk.end(visitor);
    const late = await visitor.post(keysPage(), { label: 'left' });
    await visitor.post('/sign-in', { ...user, carried: hiddenField(late, 'carried') ?? '' });

    const [first, again] = [await visitor.get('/carry-on'), await visitor.get('/carry-on')];
    await visitor.get('/carry-on?leave');
    const over = await visitor.get('/carry-on');

    expect([headingOf(first), headingOf(again)]).toEqual(['Continue your action', 'Continue your action']);
    expect(over.status).toBe(303);
  });

  test.each(['//evil.example/', '/\\evil.example', '/\\evil.example/account/profile', '/no-such-route'])(
    'is not kept when it was made up to go to %p, nor is anybody sent there',
    async (target) => {
      const user = await desk.users.member(merchant.id);
      const visitor = desk.visitor();
      const carried = Buffer.from(JSON.stringify({ action: target, fields: [] })).toString('base64url');

      const { headers } = await visitor.post('/sign-in', { ...user, carried, next: target });
      await visitor.get(`/confirm?next=${encodeURIComponent(target)}`);
      const confirmed = await visitor.post('/confirm', { password: user.password });
      const again = await visitor.get(`/sign-in?next=${encodeURIComponent(target)}`);

      expect(headers.get('location')).toBe('/');
      expect(confirmed.headers.get('location')).toBe('/');
      expect(again.headers.get('location')).toBe('/');
    },
  );
});

describe('what opens the way to payments', () => {
  test('asks who somebody is once more when the last proof is older than ten minutes, and goes on then', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = await desk.signedIn(user);
    await visitor.get(keysPage());
    await desk.age(visitor, stepUpMs + 1_000);

    const asked = await visitor.post(keysPage(), { label: 'after a proof' });
    await visitor.get('/confirm');
    const wrong = await visitor.post('/confirm', { password: 'not mine at all' });
    const right = await visitor.post('/confirm', { password: user.password });
    const shown = await visitor.get('/carry-on');
    const made = await visitor.post(hiddenTarget(shown.body), { label: 'after a proof' });

    expect(asked.headers.get('location')).toBe('/confirm');
    expect(wrong.status).toBe(401);
    expect(wrong.body).toContain('Wrong password');
    expect(right.headers.get('location')).toBe('/carry-on');
    expect(headingOf(made)).toBe('Your new key');
  });

  test('does not ask within ten minutes', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await desk.age(visitor, stepUpMs - 60_000);

    expect(headingOf(await visitor.post(keysPage(), { label: 'soon' }))).toBe('Your new key');
  });

  test('is not opened by asking for it: looking does not count as a proof', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await desk.age(visitor, stepUpMs + 1_000);
    await visitor.get(keysPage());

    const first = await visitor.post(keysPage(), { label: 'no' });
    const second = await visitor.post(keysPage(), { label: 'no' });

    expect([first, second].map(({ headers }) => headers.get('location'))).toEqual(['/confirm', '/confirm']);
  });
});

/** Where the form of the page about what was kept goes. */
function hiddenTarget(body: string): string {
  return /<main[^]*?<form method="post" action="([^"]*)"/.exec(body)?.[1] ?? '';
}
