import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, fetch as fetchFrom } from 'undici';
import { AccountService, MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { headingOf } from '../../support/customer.ts';
import type { PageAnswer, SendRequest } from '../../support/customer.ts';
import { createDashboardVisitor } from '../../support/dashboard-visitor.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import type { TestUser } from '../../support/dashboard-users.ts';
import { shared, sharedMerchant, sharedStack } from '../../support/shared-stack.ts';
import { startTlsProxy } from '../../support/tls-proxy.ts';
import { openAuthority } from '../webhooks/certificates.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

// All of 127.0.0.0/8 is this machine. The proxy is 127.0.0.1 and trusted, and users come from other addresses of it.

const sessionCookie = '__Host-gatehouse_session';

const authority = openAuthority();
const agents: Agent[] = [];
// Before the proxy closes, which waits for its connections.
afterAll(() => Promise.all(agents.map((agent) => agent.close())));
const proxy = shared(() => startTlsProxy(authority.issue({ names: 'DNS:localhost' })));
const stack = sharedStack({
  ...{ facades: 0, dashboards: 1 },
  settings: {
    get GATEHOUSE_DASHBOARD_BASE_URL() {
      return proxy.origin;
    },
    GATEHOUSE_TRUSTED_PROXIES: '127.0.0.1/32',
  },
});
const desk = sharedDashboardDesk(stack);
const merchant = sharedMerchant(stack);
/** The address of the dashboard, without TLS. */
let plainOrigin: string;

/** Sends from one of this machine's addresses, with headers that a browser would not send by itself. */
function sendingFrom(localAddress: string, own: Readonly<Record<string, string>> = {}): SendRequest {
  const agent = new Agent({ localAddress, connect: { ca: authority.cert } });
  agents.push(agent);
  return async (url, init) => {
    const answer = await fetchFrom(url, {
      ...init,
      headers: { ...init.headers, ...own },
      dispatcher: agent,
    });
    const headers = new Headers([...answer.headers]);
    return { status: answer.status, headers, text: () => answer.text() };
  };
}

/** A user's browser that uses the proxy. */
const browserAt = (localAddress: string, own?: Readonly<Record<string, string>>): DashboardVisitor =>
  createDashboardVisitor(proxy.origin, sendingFrom(localAddress, own));
/** A client that bypasses the proxy. */
const intruderAt = (localAddress: string, own?: Readonly<Record<string, string>>): DashboardVisitor =>
  createDashboardVisitor(plainOrigin, sendingFrom(localAddress, own));

beforeAll(() => {
  plainOrigin = stack.dashboards[0]?.origin ?? '';
  proxy.forwardTo(plainOrigin);
});
afterAll(() => authority.close());

const newUser = (): Promise<TestUser> => desk.users.member(merchant.id);
const keysPage = (): string => `/m/${merchant.id}/sandbox/keys`;
const guess = (visitor: DashboardVisitor, { email }: TestUser): Promise<PageAnswer> =>
  visitor.post('/sign-in', { email, password: 'not the password' });

/** The addresses of the user in the audit log of sign-ins, oldest first. */
async function signInAddressesOf({ userId }: TestUser): Promise<readonly unknown[]> {
  const { entries } = await stack
    .client(AuditService, 'reader')
    .listAuditEntries({ merchantId: merchant.id, actionKind: 'session', pageSize: 500 });
  const own = entries.filter(({ targetId }) => targetId === userId).reverse();
  return own.map(({ details }) => details?.['remote_address']);
}

describe('behind a proxy with TLS', () => {
  test('people sign in, work and sign out with cookies that are for this host and TLS only, and that no script gets', async () => {
    const user = await newUser();
    const visitor = browserAt('127.0.0.10');

    const answers = [await visitor.get('/sign-in?lang=en'), await visitor.signIn(user)];
    answers.push(await visitor.get(keysPage()), await visitor.post('/sign-out'));
    visitor.cookies.set(sessionCookie, 'A'.repeat(43));
    answers.push(await visitor.get('/sign-in'));

    expect(answers.map(({ status }) => status)).toEqual([200, 303, 200, 303, 200]);
    expect(headingOf(answers[2]!)).toBe('API keys');
    expect(answers[2]!.headers.get('strict-transport-security')).toContain('max-age=');
    const lines = answers.flatMap(({ headers }) => headers.getSetCookie());
    const names = new Set(lines.map((line) => line.split('=')[0]));
    const ours = ['csrf', 'session', 'browser'].map((name) => `__Host-gatehouse_${name}`);
    expect(names).toEqual(new Set([...ours, 'gatehouse_dashboard_language']));
    for (const line of lines) {
      expect(line).toMatch(/; Path=\/(;|$)/);
      expect(line).toMatch(/; Secure(;|$)/);
      expect(line).not.toMatch(/; Domain=/i);
    }
    for (const line of lines.filter((text) => !text.includes('Expires=Thu, 01 Jan 1970'))) {
      expect(line).toMatch(/; HttpOnly(;|$)/);
      expect(line).toMatch(/; SameSite=Lax(;|$)/);
    }
    const cleared = answers.map(({ headers }) => headers.getSetCookie().map((line) => line.split(';')[0]));
    expect(cleared[3]).toEqual(expect.arrayContaining([`${sessionCookie}=`, '__Host-gatehouse_csrf=']));
    expect(cleared[4]).toContain(`${sessionCookie}=`);
  });

  test('a session that another host of the domain plants by a cookie without the prefix has no user', async () => {
    const visitor = browserAt('127.0.0.10');
    await visitor.signIn(await newUser());
    const session = visitor.cookies.get(sessionCookie) ?? '';
    const victim = browserAt('127.0.0.10');
    victim.cookies.set('gatehouse_session', session);

    expect(session).toMatch(/^[\w-]{43}$/);
    expect((await victim.get(keysPage())).status).toBe(303);
  });

  test('one-time links begin with the address that people use', async () => {
    const visitor = browserAt('127.0.0.10', { 'x-forwarded-host': 'evil.example' });
    await visitor.signIn(await newUser());
    await visitor.get(`/m/${merchant.id}/team`);

    const made = await visitor.post(`/m/${merchant.id}/team/invite`, {
      email: 'linked@shop.example',
      role: 'viewer',
    });

    expect(made.body).toContain(`${proxy.origin}/invitation/`);
    expect(made.body).not.toContain('evil.example');
  });

  test('a form from the address behind the proxy is refused, and one from the HTTPS address is accepted', async () => {
    const user = await newUser();
    const visitor = browserAt('127.0.0.10');
    await visitor.get('/sign-in');

    const foreign = await visitor.post('/sign-in', { ...user }, { origin: plainOrigin });
    const own = await visitor.post('/sign-in', { ...user }, { origin: proxy.origin });

    expect([foreign.status, own.status]).toEqual([403, 303]);
  });

  test('attempts count for the address of the client, not of the proxy', async () => {
    const user = await newUser();
    const [here, there] = [browserAt('127.0.0.11'), browserAt('127.0.0.12')];
    for (let tries = 0; tries < 5; tries += 1) await guess(here, user);

    const [held, entered] = [await guess(here, user), await there.signIn(user)];

    expect([held.status, entered.status]).toEqual([429, 303]);
    expect(await signInAddressesOf(user)).toEqual(['127.0.0.11', '127.0.0.11', '127.0.0.12']);
  });

  test('a client cannot choose its address by a header to the proxy', async () => {
    const user = await newUser();
    const statuses = [];
    for (let tries = 0; tries < 6; tries += 1) {
      const said = { 'x-forwarded-for': `203.0.113.${tries}`, 'x-real-ip': `203.0.113.${tries}` };
      statuses.push((await guess(browserAt('127.0.0.13', said), user)).status);
    }

    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await signInAddressesOf(user)).toEqual(['127.0.0.13', '127.0.0.13']);
  });
});

describe('around the proxy', () => {
  test.each([
    ['without a header about TLS', {}],
    ['with a header that claims TLS', { 'x-forwarded-proto': 'https' }],
    ['with other headers that claim TLS', { forwarded: 'proto=https', 'x-forwarded-ssl': 'on' }],
    [
      'that claims to be behind the proxy',
      { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'localhost' },
    ],
  ])('a client %s cannot sign in, and no cookie comes without Secure', async (_name, said) => {
    const user = await newUser();
    const intruder = intruderAt('127.0.0.20', said);

    const page = await intruder.get('/sign-in');
    const answer = await intruder.post('/sign-in', { ...user });

    expect(headingOf(answer)).toBe('The connection is not known to be secure');
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(intruder.cookies.has(sessionCookie)).toBe(false);
    for (const line of [page, answer].flatMap(({ headers }) => headers.getSetCookie()))
      expect(line).toMatch(/; Secure(;|$)/);
    expect(await signInAddressesOf(user)).toEqual([]);
  });

  test('a one-time link stays usable, and the password sent with it is refused', async () => {
    const accounts = stack.client(AccountService, 'operator');
    const { token: invitation } = await accounts.inviteUser({
      email: 'late@shop.example',
      merchantId: merchant.id,
      role: MemberRole.VIEWER,
    });
    const { token: reset } = await stack
      .client(AccountService, 'dashboard')
      .startPasswordReset({ email: (await newUser()).email });
    const fields = { name: 'Late', password: 'four words that are new' };
    const intruder = intruderAt('127.0.0.20', { 'x-forwarded-proto': 'https' });

    for (const link of [`/invitation/${invitation}`, `/reset/${reset}`]) {
      const refused = await intruder.post(link, fields);
      const visitor = browserAt('127.0.0.10');
      await visitor.get(link);
      const taken = await visitor.post(link, fields);
      expect(headingOf(refused)).toBe('The connection is not known to be secure');
      expect(taken.status).toBe(303);
    }
  });

  test('the proxy itself is not trusted to have TLS without a header that says so', async () => {
    const user = await newUser();
    const answers = [
      await intruderAt('127.0.0.1').post('/sign-in', { ...user }),
      await intruderAt('127.0.0.1', { 'x-forwarded-proto': 'http' }).post('/sign-in', { ...user }),
      await intruderAt('127.0.0.1', { 'x-forwarded-proto': 'https, http' }).post('/sign-in', { ...user }),
    ];
    for (const answer of answers) expect(headingOf(answer)).toBe('The connection is not known to be secure');
  });
});

test('a browser with more cookies than the dashboard reads gets a page that says what to do', async () => {
  const answer = await fetch(plainOrigin, { headers: { cookie: `a=${'x'.repeat(20_000)}` } });

  expect(answer.status).toBe(431);
  expect(await answer.text()).toContain('<h1>Your browser sent too many cookies</h1>');
});
