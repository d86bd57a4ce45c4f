import { beforeAll, describe, expect, test } from '@jest/globals';
import { AccountService } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { headingOf } from '../../support/customer.ts';
import type { TestMerchant } from '../../support/stack.ts';
import { openDashboardDesk, sessionCookie } from './dashboard-desk.ts';
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

describe('signing in', () => {
  test('leads to where somebody wanted to be', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = desk.visitor();

    const refused = await visitor.get(keysPage());
    const signIn = String(refused.headers.get('location'));
    await visitor.get(signIn);
    const next = decodeURIComponent(signIn.split('next=')[1] ?? '');
    const entered = await visitor.post('/sign-in', { ...user, next });

    expect(refused.status).toBe(303);
    expect(entered.headers.get('location')).toBe(keysPage());
    expect(headingOf(await visitor.get(keysPage()))).toBe('API keys');
  });

  test.each([
    ['another site', 'https://evil.example/'],
    ['another site without a scheme', '//evil.example/'],
    ['another site, as browsers read a backslash', '/\\evil.example/'],
    ['another site behind a tab', '/\t/evil.example/'],
    ['a script', 'javascript:alert(1)'],
  ])('never leads to %s', async (_name, next) => {
    const user = await desk.users.member(merchant.id);
    const visitor = desk.visitor();

    const { headers } = await visitor.post('/sign-in', { ...user, next });

    expect(headers.get('location')).toBe('/');
  });

  test('an unknown address and a wrong password are answered alike, and the address is kept', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = desk.visitor();

    const wrong = await visitor.post('/sign-in', { ...user, password: 'not the password' });
    const unknown = await visitor.post('/sign-in', {
      email: 'nobody@shop.example',
      password: 'any password',
    });

    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(wrong.body).toContain('Wrong e-mail address or password');
    expect(unknown.body).toContain('Wrong e-mail address or password');
    expect(wrong.body).toContain(`value="${user.email}"`);
    expect(wrong.body).not.toContain('not the password');
  });

  test('what is missing is said at its field', async () => {
    const { status, body } = await desk.visitor().post('/sign-in', { email: 'a@shop.example' });

    expect(status).toBe(400);
    expect(body).toContain('id="password-error"');
    expect(body).not.toContain('id="email-error"');
  });

  test('tries without end are held up, and it is said for how long', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = desk.visitor();

    let answer = await visitor.signIn({ ...user, password: 'guess' });
    for (let tries = 1; answer.status === 401 && tries < 50; tries += 1)
      answer = await visitor.post('/sign-in', { email: user.email, password: `guess ${tries}` });

    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.body).toMatch(/Wait \d+ (seconds?|minutes?|hours?) before you try again\./);
    expect((await visitor.post('/sign-in', { ...user })).status).toBe(429);
  });
});

describe('a session', () => {
  test('has another id after signing in than one that somebody planted before', async () => {
    const planted = 'A'.repeat(43);
    const user = await desk.users.member(merchant.id);
    const victim = desk.visitor();
    victim.cookies.set(sessionCookie, planted);
    await victim.signIn(user);
    const attacker = desk.visitor();
    attacker.cookies.set(sessionCookie, planted);

    expect(victim.cookies.get(sessionCookie)).not.toBe(planted);
    expect((await attacker.get(keysPage())).status).toBe(303);
  });

  test('has another id after each proof of who somebody is, and the one before is dead', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    const user = await desk.users.member(merchant.id);
    await visitor.post('/sign-out');
    await visitor.signIn(user);
    const before = visitor.cookies.get(sessionCookie) ?? '';
    await visitor.get('/confirm');
    await visitor.post('/confirm', { password: user.password });
    const old = desk.visitor();
    old.cookies.set(sessionCookie, before);

    expect(visitor.cookies.get(sessionCookie)).not.toBe(before);
    expect((await visitor.get(keysPage())).status).toBe(200);
    expect((await old.get(keysPage())).status).toBe(303);
  });

  test('is over for its old cookie when somebody signs out', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    const stolen = desk.visitor();
    stolen.cookies.set(sessionCookie, visitor.cookies.get(sessionCookie) ?? '');

    await visitor.get(keysPage());
    const out = await visitor.post('/sign-out');

    expect(out.headers.get('location')).toBe('/sign-in?out=1');
    expect((await stolen.get(keysPage())).status).toBe(303);
  });

  test('ends when its user is kept out', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = await desk.signedIn(user);

    await stack.client(AccountService, 'operator').setUserDisabled({ email: user.email, isDisabled: true });

    expect((await visitor.get(keysPage())).status).toBe(303);
  });

  test('is a cookie that no script reads and no other site sends along', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = desk.visitor();

    const { headers } = await visitor.signIn(user);

    const cookie = headers.getSetCookie().find((line) => line.startsWith(sessionCookie));
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Lax$/);
  });
});
