import { beforeAll, describe, expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { codeOf } from '../../support/authenticator.ts';
import { hiddenField } from '../../support/dashboard-visitor.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import type { TestUser } from '../../support/dashboard-users.ts';
import type { TestMerchant } from '../../support/stack.ts';
import { openDashboardDesk } from './dashboard-desk.ts';
import type { DashboardDesk } from './dashboard-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

let desk: DashboardDesk;
let merchant: TestMerchant;
let owner: DashboardVisitor;

const stack = sharedStack({ facades: 0, dashboards: 1 });
beforeAll(async () => {
  desk = openDashboardDesk(stack);
  merchant = await stack.createMerchant();
  owner = await desk.signedIn(await desk.users.member(merchant.id));
});

interface Row {
  readonly who: string;
  readonly what: string;
}

/** The rows of an audit log, the oldest first. */
async function rowsOf(reader: DashboardVisitor, path: string): Promise<readonly Row[]> {
  const { body } = await reader.get(path);
  const cells = [...body.matchAll(/<td[^>]*>(?:<div>)?<bdi>([^<]*)<\/bdi>/g)].map(([, text = '']) => text);
  const rows = cells.flatMap((who, index) =>
    index % 2 === 0 ? [{ who, what: cells[index + 1] ?? '' }] : [],
  );
  return rows.reverse();
}

/** What the owner's audit log says of the user. */
async function signInsOf({ email }: TestUser, query = 'kind=session'): Promise<readonly Row[]> {
  const rows = await rowsOf(owner, `/m/${merchant.id}/audit?${query}`);
  return rows.filter(({ what }) => what.includes(email));
}

const viewer = () => desk.users.member(merchant.id, MemberRole.VIEWER);

describe('the audit log tells an owner', () => {
  test('who signed in and out, and of the others’ sessions that were ended', async () => {
    const user = await viewer();
    const visitor = await desk.signedIn(user);
    await desk.signedIn(user);
    await visitor.get('/account');
    await visitor.post('/account/sessions/end');
    await visitor.post('/sign-out');

    expect(await signInsOf(user)).toEqual([
      { who: user.email, what: `${user.email} signed in by their password.` },
      { who: user.email, what: `${user.email} signed in by their password.` },
      { who: user.email, what: `${user.email} ended their other sessions.` },
      { who: user.email, what: `${user.email} signed out.` },
    ]);
  });

  test('of the first wrong password and of too many tries, however many there are', async () => {
    const user = await viewer();
    const stranger = desk.visitor();
    const statuses = [];
    for (let tries = 0; tries < 8; tries += 1)
      statuses.push((await stranger.post('/sign-in', { email: user.email, password: 'guess' })).status);

    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    const who = 'Somebody who could not sign in';
    expect(await signInsOf(user)).toEqual([
      { who, what: `A sign-in as ${user.email} was denied, because the password was wrong.` },
      { who, what: `A sign-in as ${user.email} was denied, because there were too many attempts.` },
    ]);
    const { body } = await owner.get(`/m/${merchant.id}/audit?kind=session`);
    expect(body).toContain('<dt>remote_address</dt><dd><bdi>127.0.0.1</bdi></dd>');
  });

  test('of one-time codes turned on and off, of sign-ins by them, and of a password that was changed', async () => {
    const user = await viewer();
    const visitor = await desk.signedIn(user);
    await visitor.get('/account');
    const setUp = await visitor.post('/account/codes/begin');
    const secret = (/<code id="secret">([^<]*)</.exec(setUp.body)?.[1] ?? '').replaceAll(' ', '');
    const uri = (hiddenField(setUp, 'secret_uri') ?? '').replaceAll('&amp;', '&');
    await visitor.post('/account/codes/confirm', { secret_uri: uri, code: codeOf(secret) });
    const other = desk.visitor();
    await other.signIn(user);
    await other.post('/sign-in/code', { code: '000000' });
    await other.post('/sign-in/code', { code: codeOf(secret, 1) });
    await visitor.post('/account/codes/off');
    const password = 'four words that are new';
    await visitor.post('/account/password', { current_password: user.password, new_password: password });

    expect((await signInsOf(user, '')).map(({ what }) => what.replace(user.email, 'Sara'))).toEqual([
      'Sara was invited as viewer.',
      'Sara accepted the invitation and became viewer.',
      'Sara signed in by their password.',
      'Sara turned one-time codes on.',
      'A sign-in as Sara was denied, because the password was right, and the code was wrong.',
      'Sara signed in by their password and a one-time code.',
      'Sara turned one-time codes off.',
      'Sara changed their password.',
    ]);
  });

  test('nothing of those who give the password and go, nor of confirming who one is', async () => {
    const user = await viewer();
    const visitor = await desk.signedIn(user);
    await visitor.get('/confirm');
    await visitor.post('/confirm', { password: user.password });

    expect((await signInsOf(user)).map(({ what }) => what)).toEqual([
      `${user.email} signed in by their password.`,
    ]);
  });

  test('in Amharic too', async () => {
    const user = await viewer();
    const visitor = await desk.signedIn(user);
    await visitor.get('/account');
    await visitor.post('/sign-out');
    owner.cookies.set('gatehouse_dashboard_language', 'am');

    const said = await signInsOf(user);
    owner.cookies.delete('gatehouse_dashboard_language');

    expect(said.map(({ what }) => what)).toEqual([`${user.email} በይለፍ ቃል ገባ።`, `${user.email} ወጣ።`]);
  });
});

test('operators read of each other, and of every merchant', async () => {
  const [operator, colleague, user] = [
    await desk.users.operator(),
    await desk.users.operator(),
    await viewer(),
  ];
  await desk.signedIn(colleague);
  await desk.signedIn(user);
  const reader = await desk.signedIn(operator);

  const rows = await rowsOf(reader, '/operator/audit?kind=session');

  for (const { email } of [colleague, user, operator])
    expect(rows).toContainEqual({ who: email, what: `${email} signed in by their password.` });
  expect(await signInsOf(operator)).toEqual([]);
});
