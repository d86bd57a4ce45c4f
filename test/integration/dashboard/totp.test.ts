import { beforeEach, describe, expect, test } from '@jest/globals';
import { accessRules } from '../../../src/dashboard/access/access-rules.ts';
import { codeOf, untilStepIsYoung, wrongCodeOf } from '../../support/authenticator.ts';
import { headingOf } from '../../support/customer.ts';
import type { PageAnswer } from '../../support/customer.ts';
import { hiddenField } from '../../support/dashboard-visitor.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import type { TestUser } from '../../support/dashboard-users.ts';
import { makeOperatorsOld } from '../../support/dashboard-users.ts';
import { sessionCookie, sharedDashboardDesk } from './dashboard-desk.ts';
import { sharedMerchant, sharedStack } from '../../support/shared-stack.ts';

// A code is valid for a step of 30 seconds and the steps beside it, and once. A test turns codes on with the previous
// one, signs in with the current one, and confirms with the next one. So it only waits for the end of a step.

const stack = sharedStack({ facades: 0, dashboards: 1 });
const desk = sharedDashboardDesk(stack);
const merchant = sharedMerchant(stack);
// A test, the dashboard and core must be in the same step.
beforeEach(() => untilStepIsYoung(10_000));

const keysPage = (): string => `/m/${merchant.id}/sandbox/keys`;
const overStepUpMs = 10 * 60_000 + 1_000;

interface SetUp {
  readonly answer: PageAnswer;
  readonly secret: string;
  readonly uri: string;
}

/** Requests a secret, like the button on the account page. */
async function begin(visitor: DashboardVisitor): Promise<SetUp> {
  await visitor.get('/account');
  return setUpOn(await visitor.post('/account/codes/begin'));
}

const setUpOn = (answer: PageAnswer): SetUp => ({
  answer,
  secret: (/<code id="secret">([^<]*)</.exec(answer.body)?.[1] ?? '').replaceAll(' ', ''),
  uri: (hiddenField(answer, 'secret_uri') ?? '').replaceAll('&amp;', '&'),
});

interface Protected {
  readonly user: TestUser;
  readonly secret: string;
  readonly recoveryCodes: readonly string[];
  /** The user who turned the codes on, still signed in. */
  readonly visitor: DashboardVisitor;
}

/** A user who turned one-time codes on with the code of the previous step. */
async function protectedUser(): Promise<Protected> {
  const user = await desk.users.member(merchant.id);
  const visitor = await desk.signedIn(user);
  const { secret, uri } = await begin(visitor);
  const done = await visitor.post('/account/codes/confirm', { secret_uri: uri, code: codeOf(secret, -1) });
  const recoveryCodes = (/<pre class="code" id="codes"[^>]*>([^<]*)</.exec(done.body)?.[1] ?? '').split('\n');
  return { user, secret, recoveryCodes, visitor };
}

/** A browser in which only the password was accepted. */
async function afterPassword(user: TestUser, next = ''): Promise<DashboardVisitor> {
  const visitor = desk.visitor();
  await visitor.get('/sign-in');
  const { headers } = await visitor.post('/sign-in', { ...user, next });
  expect(headers.get('location')).toBe('/sign-in/code');
  await visitor.get('/sign-in/code');
  return visitor;
}

const isIn = async (visitor: DashboardVisitor): Promise<boolean> =>
  (await visitor.get(keysPage())).status === 200;

describe('one-time codes are turned on', () => {
  test('on the account page, by the first code, with recovery codes that are shown once', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));

    const { answer, secret, uri } = await begin(visitor);
    const before = await visitor.get('/account');
    const done = await visitor.post('/account/codes/confirm', { secret_uri: uri, code: codeOf(secret) });
    const after = await visitor.get('/account');

    expect(answer.body).toContain('<svg');
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(uri).toContain(`secret=${secret}`);
    expect(before.body).toContain('action="/account/codes/begin"');
    expect(headingOf(done)).toBe('One-time codes are on');
    expect(done.body.match(/^(?:.*>)?([0-9a-z]{4}-){2}[0-9a-z]{4}/gm)).toHaveLength(10);
    expect(after.body).toContain('action="/account/codes/off"');
    expect(after.body).not.toMatch(/([0-9a-z]{4}-){2}[0-9a-z]{4}</);
  });

  test('not by a wrong code, which does not change the secret', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    const { secret, uri } = await begin(visitor);

    const wrong = await visitor.post('/account/codes/confirm', {
      secret_uri: uri,
      code: wrongCodeOf(secret),
    });
    const right = await visitor.post('/account/codes/confirm', {
      secret_uri: setUpOn(wrong).uri,
      code: codeOf(secret),
    });

    expect(wrong.status).toBe(400);
    expect(wrong.body).toContain('Wrong code');
    expect(setUpOn(wrong).secret).toBe(secret);
    expect(headingOf(right)).toBe('One-time codes are on');
  });

  test('and off only after a new confirmation of the identity, when the last one is too old', async () => {
    const { visitor } = await protectedUser();
    const other = await desk.signedIn(await desk.users.member(merchant.id));
    await visitor.get('/account');
    await desk.age(visitor, overStepUpMs);
    await desk.age(other, overStepUpMs);

    const [on, off] = [await other.post('/account/codes/begin'), await visitor.post('/account/codes/off')];

    expect([on.headers.get('location'), off.headers.get('location')]).toEqual(['/confirm', '/confirm']);
  });

  test('by a form that is not kept during a sign-in, because the secret would be stored with it', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    const { secret, uri } = await begin(visitor);
    await desk.end(visitor);

    const detained = await visitor.post('/account/codes/confirm', {
      secret_uri: uri,
      code: codeOf(secret),
    });

    const carried = Buffer.from(hiddenField(detained, 'carried') ?? '', 'base64url').toString();
    expect(carried).toContain('/account/codes/confirm');
    expect(carried).not.toContain(secret);
  });

  test.each([
    ['is missing from the form', {}],
    ['does not fit into a QR code', { secret_uri: `otpauth://totp/${'ሀ'.repeat(1_000)}` }],
  ])('again from the account page when the secret %s', async (_name, fields) => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await begin(visitor);

    const answer = await visitor.post('/account/codes/confirm', { ...fields, code: '123456' });
    const account = await visitor.get('/account');

    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/account']);
    expect(account.body).toContain('Turn one-time codes on again to get a new one');
  });
});

describe('a session with only the password', () => {
  test('is asked for the code, which leads to the requested page', async () => {
    const { user, secret } = await protectedUser();
    const visitor = await afterPassword(user, keysPage());
    const before = visitor.cookies.get(sessionCookie);

    const page = await visitor.get('/sign-in/code');
    const entered = await visitor.post('/sign-in/code', { code: codeOf(secret).replace(/^.../, '$& ') });
    const old = desk.visitor();
    old.cookies.set(sessionCookie, before ?? '');

    expect(headingOf(page)).toBe('Enter your code');
    expect(entered.headers.get('location')).toBe(keysPage());
    expect(await isIn(visitor)).toBe(true);
    expect(visitor.cookies.get(sessionCookie)).not.toBe(before);
    expect(await isIn(old)).toBe(false);
  });

  test('sees no page and changes nothing', async () => {
    const { user } = await protectedUser();
    const visitor = await afterPassword(user);
    const paths = Object.entries(accessRules)
      .filter(([, { who }]) => who !== 'everyone')
      .map(([name]) => name.split(' ') as [string, string])
      .map(([method, route]) => ({ method, path: route.replace(':merchantId', merchant.id) }))
      .map(({ method, path }) => ({ method, path: path.replace(':environment', 'sandbox') }))
      .map(({ method, path }) => ({ method, path: path.replace(/:([a-z]+)/gi, `x_${'0'.repeat(26)}`) }));

    const answers = [];
    for (const { method, path } of paths) {
      const { status, headers, body } = await (method === 'GET' ? visitor.get(path) : visitor.post(path));
      const isSent = headers.get('location')?.startsWith('/sign-in?next=') ?? body.includes('name="carried"');
      answers.push({ method, path, status, isSent });
    }

    expect(answers.length).toBeGreaterThan(60);
    expect(answers).toEqual(
      paths.map((asked) => ({ ...asked, status: asked.method === 'GET' ? 303 : 401, isSent: true })),
    );
  });

  test('can be left to sign in as another user', async () => {
    const { user } = await protectedUser();
    const other = await desk.users.member(merchant.id);
    const visitor = await afterPassword(user);

    const left = await visitor.post('/sign-out');
    await visitor.signIn(other);

    expect(left.headers.get('location')).toBe('/sign-in?out=1');
    expect(await isIn(visitor)).toBe(true);
    expect((await visitor.get('/account')).body).toContain(other.email);
  });
});

describe('a code', () => {
  test('can be tried five times, and then the page says how long to wait, also for the right one', async () => {
    const { user, secret } = await protectedUser();
    const visitor = await afterPassword(user);
    const code = wrongCodeOf(secret);

    const statuses = [];
    let wrong = '';
    for (let tries = 0; tries < 5; tries += 1) {
      const { status, body } = await visitor.post('/sign-in/code', { code });
      statuses.push(status);
      wrong = body;
    }
    const held = await visitor.post('/sign-in/code', { code: codeOf(secret) });

    expect(statuses).toEqual([401, 401, 401, 401, 401]);
    expect(wrong).toContain('Wrong code');
    expect(held.status).toBe(429);
    expect(Number(held.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(held.body).toMatch(/Wait \d+ minutes? before you try again\./);
    expect(await isIn(visitor)).toBe(false);
  });
});

describe('without the authenticator', () => {
  test('a recovery code signs in once, and the next page says how many are left', async () => {
    const { user, recoveryCodes } = await protectedUser();
    const [visitor, again] = [await afterPassword(user), await afterPassword(user)];
    const [code = ''] = recoveryCodes;

    const entered = await visitor.post('/sign-in/code', { code: code.toUpperCase() });
    const page = await visitor.get(keysPage());
    const second = await again.post('/sign-in/code', { code });

    expect(entered.status).toBe(303);
    expect(page.body).toContain('You used a recovery code. 9 are left.');
    expect(second.status).toBe(401);
    expect(await isIn(again)).toBe(false);
  });

  test('and without recovery codes, two operators remove the second factor, and the next sign-in says so', async () => {
    const { user } = await protectedUser();
    const operators = await Promise.all([desk.users.operator(), desk.users.operator()]);
    await makeOperatorsOld(stack);
    const [first, second] = await Promise.all(operators.map((operator) => desk.signedIn(operator)));
    const before = { email: user.email, help: 'codes' };

    const asked = await first!.post('/operator/users/remove-totp', { email: user.email });
    const own = await first!.post('/operator/users/approve', before);
    const stillAsked = await afterPassword(user);
    const shown = await second!.get('/operator/users');
    const approved = await second!.post('/operator/users/approve', before);
    const visitor = desk.visitor();
    await visitor.signIn(user);
    const page = await visitor.get(keysPage());

    expect([asked.status, own.status, approved.status]).toEqual([303, 409, 303]);
    expect(own.body).toContain('This needs another operator');
    expect(await isIn(stillAsked)).toBe(false);
    expect(shown.body).toContain(user.email);
    expect(await isIn(visitor)).toBe(true);
    expect(page.body).toContain('two operators removed the one-time codes from your account');
  });
});

describe('before a key is created', () => {
  /** A user who signed in with a code, too long ago to create a key. */
  async function longAgo(): Promise<Protected> {
    const signedUp = await protectedUser();
    const visitor = await afterPassword(signedUp.user);
    await visitor.post('/sign-in/code', { code: codeOf(signedUp.secret) });
    await visitor.get(keysPage());
    await desk.age(visitor, overStepUpMs);
    return { ...signedUp, visitor };
  }

  test('the page asks for the code instead of the password, and the key is created with the entered values', async () => {
    const { visitor, secret } = await longAgo();

    const detained = await visitor.post(keysPage(), { label: 'made by a code' });
    const confirm = await visitor.get('/confirm');
    const confirmed = await visitor.post('/confirm', { code: codeOf(secret, 1) });
    const carryOn = await visitor.get('/carry-on');
    const made = await visitor.post(keysPage(), { label: hiddenField(carryOn, 'label') ?? '' });

    expect(detained.headers.get('location')).toBe('/confirm');
    expect(confirm.body).toContain('name="code"');
    expect(confirm.body).not.toContain('name="password"');
    expect(confirmed.headers.get('location')).toBe('/carry-on');
    expect(made.body).toMatch(/<code id="secret">svc_test_/);
    expect((await visitor.get(keysPage())).body).toContain('made by a code');
  });

  test('neither the password, nor a wrong code, nor the code of the sign-in is enough', async () => {
    const { visitor, secret, user } = await longAgo();
    await visitor.post(keysPage(), { label: 'never made' });

    const answers = [
      await visitor.post('/confirm', { password: user.password }),
      await visitor.post('/confirm', { code: wrongCodeOf(secret) }),
      await visitor.post('/confirm', { code: codeOf(secret) }),
    ];
    const again = await visitor.post(keysPage(), { label: 'never made' });

    expect(answers.map(({ status }) => status)).toEqual([400, 401, 401]);
    expect(again.headers.get('location')).toBe('/confirm');
    expect((await visitor.get(keysPage())).body).not.toContain('never made');
  });
});
