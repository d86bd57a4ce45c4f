import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { headingOf } from '../../support/customer.ts';
import type { PageAnswer } from '../../support/customer.ts';
import { sessionCookie, sessionsRead, sharedDashboardDesk } from './dashboard-desk.ts';
import { holdLocks, queryOnce } from '../../support/database-connections.ts';
import { sharedMerchant, sharedStack } from '../../support/shared-stack.ts';
import { formTokenOf, hiddenField } from '../../support/dashboard-visitor.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { TestUser } from '../../support/dashboard-users.ts';

const stack = sharedStack({ facades: 0, dashboards: 1 });

const desk = sharedDashboardDesk(stack);

const merchant = sharedMerchant(stack);

const keysPage = (): string => `/m/${merchant.id}/sandbox/keys`;

/** Signs in with wrong passwords until the answer is not that they are wrong. */
async function guessUntilDelayed(visitor: DashboardVisitor, { email }: TestUser): Promise<PageAnswer> {
  let answer = await visitor.signIn({ email, password: 'guess' });
  for (let tries = 1; answer.status === 401 && tries < 50; tries += 1)
    answer = await visitor.post('/sign-in', { email, password: `guess ${tries}` });
  return answer;
}

describe('signing in', () => {
  test('leads to the requested page', async () => {
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

  test('opens pages whose name of the product leads to a page', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));

    for (const page of [keysPage(), `/m/${merchant.id}/team`]) {
      const [, home = ''] = /class="brand" href="([^"]+)"/.exec((await visitor.get(page)).body) ?? [];
      expect((await visitor.get(home)).status).toBeLessThan(400);
    }
  });

  test('never leads to another site', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = desk.visitor();

    const { headers } = await visitor.post('/sign-in', { ...user, next: '//evil.example/' });

    expect(headers.get('location')).toBe('/');
  });

  test('with an unknown address or a wrong password gets the same answer, and the address is kept', async () => {
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

  test('without a value shows an error at its field', async () => {
    const { status, body } = await desk.visitor().post('/sign-in', { email: 'a@shop.example' });

    expect(status).toBe(400);
    expect(body).toContain('id="password-error"');
    expect(body).not.toContain('id="email-error"');
  });

  test('after too many attempts is delayed, and the page says for how long', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = desk.visitor();

    const answer = await guessUntilDelayed(visitor, user);

    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.body).toMatch(/Wait \d+ (seconds?|minutes?|hours?) before you try again\./);
    expect((await visitor.post('/sign-in', { ...user })).status).toBe(429);
  });

  test('and confirming work in a browser of the user, though a stranger in the network used the tries', async () => {
    const user = await desk.users.member(merchant.id);
    const own = await desk.signedIn(user);
    const stranger = desk.visitor();
    await guessUntilDelayed(stranger, user);

    await own.get('/confirm');
    const confirmed = await own.post('/confirm', { password: user.password });
    await own.post('/sign-out');
    const entered = await own.signIn(user);

    expect((await stranger.post('/sign-in', { ...user })).status).toBe(429);
    expect([confirmed.status, entered.status]).toEqual([303, 303]);
  });

  test('gives the browser a session and a secret that no script reads and no other site sends along', async () => {
    const { headers } = await desk.visitor().signIn(await desk.users.member(merchant.id));

    const cookies = headers.getSetCookie();
    expect(cookies).toContainEqual(
      expect.stringMatching(/^gatehouse_session=.*; Path=\/; HttpOnly; SameSite=Lax$/),
    );
    expect(cookies).toContainEqual(
      expect.stringMatching(
        /^gatehouse_browser=[\w-]{43}; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Lax$/,
      ),
    );
  });
});

describe('a session', () => {
  test('gets a new id at the sign-in, so that a planted id is useless', async () => {
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

  test('gets a new id after each confirmed identity, and the old id is invalid', async () => {
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

  test('keeps the new id of a confirmed identity when a page that was requested before arrives later', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = await desk.signedIn(user);
    await visitor.get('/confirm');
    // So the page stores the session again, with its last use.
    await desk.age(visitor, 5 * 60_000);
    const otherTab = desk.visitor();
    for (const [name, value] of visitor.cookies) otherTab.cookies.set(name, value);
    const release = await holdLocks(stack.databaseUrl, 'lock table core.api_keys in access exclusive mode');
    const page = otherTab.get(keysPage());
    const waiting = "select from pg_locks where not granted and relation = 'core.api_keys'::regclass";
    await waitUntil('the page waits', async () => (await queryOnce(stack.databaseUrl, waiting)).length > 0);

    const confirmed = await visitor.post('/confirm', { password: user.password });
    await release();
    const late = await page;

    expect([confirmed.status, late.status]).toEqual([303, 200]);
    expect(late.headers.getSetCookie().filter((line) => line.startsWith(sessionCookie))).toEqual([]);
    expect((await visitor.get(keysPage())).status).toBe(200);
  });

  test('lasts longer when its user opens a page, and not when an open page asks for news by itself', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    const orderPage = `/m/${merchant.id}/sandbox/orders/${newRandomId('ord', new Date())}`;
    await desk.age(visitor, 5 * 60_000);
    const aged = await desk.endOf(visitor);

    await visitor.get(`${orderPage}/state`);
    const asked = await desk.endOf(visitor);
    await visitor.get(keysPage());

    expect(asked).toEqual(aged);
    expect((await desk.endOf(visitor)).getTime()).toBeGreaterThan(aged.getTime() + 30 * 60_000);
  });

  test('lasts longer when its user opens a page after a wrong clock was set back', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await desk.age(visitor, -24 * 60 * 60_000);
    const aged = await desk.endOf(visitor);

    await visitor.get(keysPage());

    expect((await desk.endOf(visitor)).getTime()).toBeGreaterThan(aged.getTime() + 30 * 60_000);
  });

  test('ends for its old cookie when its user signs out', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    const stolen = desk.visitor();
    stolen.cookies.set(sessionCookie, visitor.cookies.get(sessionCookie) ?? '');

    await visitor.get(keysPage());
    const out = await visitor.post('/sign-out');

    expect(out.headers.get('location')).toBe('/sign-in?out=1');
    expect((await stolen.get(keysPage())).status).toBe(303);
  });

  test('that cannot be stored is answered with a page', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await desk.age(visitor, 5 * 60_000);
    const release = await holdLocks(
      stack.databaseUrl,
      'lock table core.dashboard_sessions in exclusive mode',
    );

    const { status, headers, body } = await visitor.get(keysPage());
    await release();

    expect(status).toBe(503);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(body).toContain('</html>');
  });

  test('that ends while a form arrives bit by bit sends no form', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = await desk.signedIn(user);
    const { origin } = stack.dashboards[0]!;
    const token = formTokenOf(await visitor.get('/account'));
    const form = new URLSearchParams({ _csrf: token, name: 'Another Name', language: 'en' }).toString();
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const head = [
      'POST /account/profile HTTP/1.1',
      `Host: ${new URL(origin).host}`,
      `Origin: ${origin}`,
      `Cookie: ${cookie}`,
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${form.length}`,
      'Connection: close',
    ];

    const before = await sessionsRead(stack);
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    socket.write(`${head.join('\r\n')}\r\n\r\n${form.slice(0, 9)}`);
    await waitUntil('its session is read', async () => (await sessionsRead(stack)) > before);
    await desk.end(visitor);
    socket.write(form.slice(9));

    expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 /);
    const again = await desk.signedIn(user);
    expect((await again.get('/account')).body).not.toContain('Another Name');
  });
});

const stepUpMs = 10 * 60_000;

describe("a form is accepted from the dashboard's own pages only:", () => {
  test('it is refused from another site', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await visitor.get(keysPage());

    const answer = await visitor.post(keysPage(), { label: 'foreign' }, { 'sec-fetch-site': 'cross-site' });

    expect([answer.status, headingOf(answer)]).toEqual([403, 'This request did not come from our page']);
    expect((await visitor.get(keysPage())).body).not.toContain('foreign');
  });

  test.each([
    ['without a token', ''],
    ['with a token that is made up', 'abcdefgh-abcdefghijklmnopqrstuvwxyzabcdefghijk'],
  ])('it is refused %s', async (_name, token) => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));

    const { status } = await visitor.post(keysPage(), { _csrf: token });

    expect(status).toBe(403);
  });

  test('it is refused with a method that the framework does not know, as an error of the client', async () => {
    const { status } = await fetch(`${stack.dashboards[0]!.origin}/sign-in`, { method: 'QUERY' });

    expect(status).toBe(400);
  });

  test("it is refused with the token of another user's page", async () => {
    const [visitor, other] = await Promise.all([
      desk.signedIn(await desk.users.member(merchant.id)),
      desk.signedIn(await desk.users.member(merchant.id)),
    ]);
    const token = formTokenOf(await other.get(keysPage()));

    expect((await visitor.post(keysPage(), { _csrf: token })).status).toBe(403);
  });

  test('the form to sign in follows the same rules', async () => {
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
    ['a body that is too large', 'application/x-www-form-urlencoded', `label=${'x'.repeat(100_000)}`],
  ])('it is refused as %s', async (_name, type, body) => {
    const answer = await fetch(`${stack.dashboards[0]?.origin}/sign-in`, {
      method: 'POST',
      headers: { 'content-type': type, 'sec-fetch-site': 'same-origin' },
      body,
    });

    expect(answer.status).toBe(400);
  });
});

describe('a form that is sent after the session has ended', () => {
  test('is kept during the sign-in, and sent again when its sender confirms it', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = await desk.signedIn(user);
    await visitor.get(keysPage());
    await desk.end(visitor);

    const late = await visitor.post(keysPage(), { label: 'Kept <b>label</b>', password: 'never kept' });
    const carried = hiddenField(late, 'carried') ?? '';
    const entered = await visitor.post('/sign-in', { ...user, carried });
    const shown = await visitor.get('/carry-on');
    const inAmharic = await visitor.get('/carry-on?lang=am');
    await visitor.get('/carry-on?lang=en');
    const sent = await visitor.post(hiddenTarget(shown.body), { label: 'Kept <b>label</b>' });

    expect([late.status, headingOf(late)]).toEqual([401, 'Sign in']);
    expect(late.body).toContain('Your entries are kept');
    expect(Buffer.from(carried, 'base64url').toString()).not.toMatch(/never kept|_csrf/);
    expect(entered.headers.get('location')).toBe('/carry-on');
    const value = '<dd><bdi>Kept &lt;b&gt;label&lt;/b&gt;</bdi></dd>';
    expect(shown.body).toContain(`<dt>Purpose</dt>${value}`);
    expect(inAmharic.body).toContain(`<dt>የሚያገለግለው</dt>${value}`);
    expect(headingOf(sent)).toBe('Your new key');
    expect((await visitor.get(keysPage())).body).toContain('Kept &lt;b&gt;label&lt;/b&gt;');
  });

  test('is shown in the words of its page', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = desk.visitor();
    const fields = Object.entries({
      ...{ seen: 'a state', role: 'developer', refunds: 'yes', lifetime: '604800', overlap: 'week' },
      ...{
        outcome: 'notPaid',
        wallet: 'walleta',
        sandbox: 'walleta_ussd',
        type: 'order.completed',
        owner_limit_ETB: '100',
        language: 'am',
      },
    });
    const form = JSON.stringify({ action: keysPage(), fields });
    await visitor.post('/sign-in', { ...user, carried: Buffer.from(form).toString('base64url') });

    const shown = [await visitor.get('/carry-on'), await visitor.get('/carry-on?lang=am')].map(({ body }) =>
      [...body.matchAll(/<dt>([^<]*)<\/dt><dd><bdi>([^<]*)</g)].map(([, label, text]) => `${label}: ${text}`),
    );

    expect(shown).toEqual([
      [
        'Role: Developer',
        'May refund orders: Yes',
        'Time to pay: 7 days',
        'The old key continues to work for: 7 days',
        'What happened: Not paid: no money moved',
        'Wallet: Wallet A',
        'Sandbox: Wallet A, USSD',
        'Type: order.completed',
        'Owners: Approval above, in ETB: 100',
        'Language: አማርኛ',
      ],
      [
        'ሚና: ገንቢ',
        'የትዕዛዝ ገንዘብ መመለስ ይችላል: አዎ',
        'ሊከፈል የሚችልበት ጊዜ: 7 ቀን',
        'የድሮው ቁልፍ የሚሠራበት ተጨማሪ ጊዜ: 7 ቀን',
        'የሆነው: አልተከፈለም፦ ገንዘብ አልተንቀሳቀሰም',
        'ዋሌት: ዋሌት ኤ',
        'መሞከሪያ: ዋሌት ኤ፣ USSD',
        'ዓይነት: order.completed',
        'ለባለቤቶች: ፈቃድ የሚያስፈልገው ከዚህ በላይ ሲሆን፣ በETB: 100',
        'ቋንቋ: አማርኛ',
      ],
    ]);
  });

  test('is kept when the language of the sign-in page is changed', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await visitor.get(keysPage());
    await desk.end(visitor);
    const late = await visitor.post(keysPage(), { label: 'Kept' });
    const carried = hiddenField(late, 'carried') ?? '';
    const target = /formaction="([^"]+)"/.exec(late.body)?.[1] ?? '';

    const inAmharic = await visitor.post(target, { carried, email: 'me@shop.example', password: '' });

    expect([inAmharic.status, headingOf(inAmharic)]).toEqual([200, 'ይግቡ']);
    expect(hiddenField(inAmharic, 'carried')).toBe(carried);
    expect(inAmharic.body).toContain('value="me@shop.example"');
    expect(inAmharic.body).not.toContain('aria-invalid');
  });

  test('is shown again until it is sent or discarded', async () => {
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

  test('is not kept when its target is another site, and leads to no such site', async () => {
    const target = '/\\evil.example/account/profile';
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
  });
});

describe('a page that opens access to payments', () => {
  test('asks for the identity again when the last confirmation is older than ten minutes, and continues then', async () => {
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

  test('does not continue with an older form when the latest one is too large to keep', async () => {
    const user = await desk.users.member(merchant.id);
    const visitor = await desk.signedIn(user);
    await desk.age(visitor, stepUpMs + 1_000);

    await visitor.post(keysPage(), { label: 'older' });
    await visitor.post(keysPage(), { label: 'ሀ'.repeat(3_000) });
    const confirmed = await visitor.post('/confirm', { password: user.password });

    expect(confirmed.headers.get('location')).toBe('/');
  });

  test.each([
    ['asks again when the confirmation is dated in the future, as after a wrong clock', -24 * 60 * 60_000],
    ['does not ask again within ten minutes', stepUpMs - 60_000],
  ])('%s', async (what, provedMsAgo) => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await desk.age(visitor, provedMsAgo);

    const answer = await visitor.post(keysPage(), { label: 'soon' });

    const asks = what.startsWith('asks');
    expect([answer.headers.get('location'), headingOf(answer)]).toEqual(
      asks ? ['/confirm', ''] : [null, 'Your new key'],
    );
  });

  test('is not opened by a request for the page, because viewing it confirms no identity', async () => {
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));
    await desk.age(visitor, stepUpMs + 1_000);
    await visitor.get(keysPage());

    const first = await visitor.post(keysPage(), { label: 'no' });
    const second = await visitor.post(keysPage(), { label: 'no' });

    expect([first, second].map(({ headers }) => headers.get('location'))).toEqual(['/confirm', '/confirm']);
  });
});

/** The target of the form on the page about the kept form. */
function hiddenTarget(body: string): string {
  return /<main[^]*?<form method="post" action="([^"]*)"/.exec(body)?.[1] ?? '';
}

let owner: DashboardVisitor;

beforeAll(async () => {
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

/** The entries of the owner's audit log about the user. */
async function signInsOf({ email }: TestUser, query = 'kind=session'): Promise<readonly Row[]> {
  const rows = await rowsOf(owner, `/m/${merchant.id}/audit?${query}`);
  return rows.filter(({ what }) => what.includes(email));
}

const viewer = () => desk.users.member(merchant.id, MemberRole.VIEWER);

describe('the audit log shows an owner', () => {
  test('who signed in and out, who failed to and from where, and which sessions others ended', async () => {
    const user = await viewer();
    const visitor = await desk.signedIn(user);
    await desk.signedIn(user);
    await desk.visitor().post('/sign-in', { email: user.email, password: 'guess' });
    await visitor.get('/account');
    await visitor.post('/account/sessions/end');
    await visitor.post('/sign-out');

    expect(await signInsOf(user)).toEqual([
      { who: user.email, what: `${user.email} signed in with a password.` },
      { who: user.email, what: `${user.email} signed in with a password.` },
      {
        who: 'Somebody who could not sign in',
        what: `A sign-in as ${user.email} was denied, because the password was wrong.`,
      },
      { who: user.email, what: `${user.email} ended their other sessions.` },
      { who: user.email, what: `${user.email} signed out.` },
    ]);
    const { body } = await owner.get(`/m/${merchant.id}/audit?kind=session`);
    expect(body).toContain('<dt>remote_address</dt><dd><bdi>127.0.0.1</bdi></dd>');
    owner.cookies.set('gatehouse_dashboard_language', 'am');
    const inAmharic = await signInsOf(user);
    owner.cookies.delete('gatehouse_dashboard_language');
    expect(inAmharic[0]?.what).toBe(`${user.email} በይለፍ ቃል ገባ።`);
    expect(inAmharic.at(-1)?.what).toBe(`${user.email} ወጣ።`);
  });
});

test('operators see the audit log of each other, and of every merchant', async () => {
  const [operator, colleague, user] = [
    await desk.users.operator(),
    await desk.users.operator(),
    await viewer(),
  ];
  await desk.signedIn(colleague);
  await desk.signedIn(user);
  const reader = await desk.signedIn(operator);

  const rows = await rowsOf(reader, '/operator/audit?kind=session');
  const { body } = await reader.get('/operator/audit?kind=session');

  for (const { email } of [colleague, user, operator])
    expect(rows).toContainEqual({ who: email, what: `${email} signed in with a password.` });
  expect(body).toContain(`<a href="/operator/merchants/${merchant.id}"><bdi>Test Shop</bdi></a>`);
  expect(await signInsOf(operator)).toEqual([]);
});

test('the page of the account says how long to wait after many changes of the name, and keeps the input', async () => {
  const visitor = await desk.signedIn(await desk.users.member(merchant.id, MemberRole.VIEWER));
  await visitor.get('/account');
  const rename = (name: string) => visitor.post('/account/profile', { name, language: 'en' });
  for (let count = 0; count < 20; count += 1) await rename(`Name ${count}`);

  const { status, headers, body } = await rename('One more');

  expect([status, headers.has('retry-after')]).toEqual([429, true]);
  expect(body).toContain('Too many attempts.');
  expect(body).toContain('value="One more"');
});

test('requests without a session share log lines', async () => {
  const visitor = desk.visitor();
  for (let number = 0; number < 25; number += 1) await visitor.get('/reset');
  await visitor.post('/sign-in', { ...(await desk.users.member(merchant.id)) });
  await visitor.get('/account');
  const lines = await waitUntil('the last line is there', () => {
    const log = stack.dashboards[0]?.process.log ?? [];
    return log.some(({ route, status }) => route === '/account' && status === 200) ? log : undefined;
  });

  expect(lines.filter(({ method, route }) => method === 'GET' && route === '/reset').length).toBe(20);
});
