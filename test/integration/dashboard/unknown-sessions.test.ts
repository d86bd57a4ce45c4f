import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { AccountService, MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { createDashboardVisitor, formTokenOf } from '../../support/dashboard-visitor.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sessionCookie, sessionsRead, sharedDashboardDesk } from './dashboard-desk.ts';

const stack = sharedStack({ facades: 0, dashboards: 2 });
const desk = sharedDashboardDesk(stack);

const openWith = async (cookie: string) => {
  const origin = stack.dashboards[0]?.origin ?? '';
  const answer = await fetch(`${origin}/sign-in`, { headers: { cookie } });
  await answer.text();
  return answer;
};
const madeUpId = () => randomBytes(32).toString('base64url');
const madeUp = () => openWith(`${sessionCookie}=${madeUpId()}`);

test('core is not asked about every session that a site makes up, and its users sign in and continue', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const user = await desk.users.member(merchantId, MemberRole.VIEWER);
  const visitor = await desk.signedIn(user);
  const flood = () => Promise.all(Array.from({ length: 60 }, madeUp));
  const unread = await waitUntil('made-up sessions are not read', async () => {
    const before = await sessionsRead(stack);
    const answers = await flood();
    return (await sessionsRead(stack)) - before < answers.length ? answers : undefined;
  });

  const statuses: number[] = [];
  for (const browser of [visitor, await desk.signedIn(user), await desk.signedIn(user)]) {
    const [, { status }] = await Promise.all([flood(), browser.get('/account')]);
    statuses.push(status);
  }
  const refused = await waitUntil('a session that is not read is not said to have ended', async () => {
    visitor.cookies.set(sessionCookie, madeUpId());
    const [, answer] = await Promise.all([flood(), visitor.post('/sign-out')]);
    return answer.status === 429 ? answer : undefined;
  });

  expect(new Set(unread.map(({ status }) => status))).toEqual(new Set([200]));
  expect(statuses).toEqual([200, 200, 200]);
  expect(refused.headers.get('retry-after')).toMatch(/^[1-9][0-9]?$/);
});

test('core is not asked about every link that a site makes up, and an invited user gets in', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const invitation = { email: 'invited@shop.example', merchantId, role: MemberRole.VIEWER };
  const { token } = await stack.client(AccountService, 'operator').inviteUser(invitation);
  // Each dashboard counts by itself. Nobody made up sessions at this one.
  const invited = createDashboardVisitor(stack.dashboards[1]?.origin ?? '');
  const link = `/invitation/${token}`;

  const refused = await waitUntil('made-up links are refused', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => invited.get(`/invitation/${randomBytes(32).toString('base64url')}`)),
    );
    return answers.find(({ status }) => status === 429);
  });

  expect(refused.headers.get('retry-after')).toMatch(/^[1-9][0-9]?$/);
  await waitUntil(
    'the link of the invited user is read',
    async () => (await invited.get(link)).status === 200,
  );
  const answers = await Promise.all(Array.from({ length: 60 }, () => invited.get(link)));
  expect(answers.map(({ status }) => status)).not.toContain(429);
  const joined = await invited.post(link, { name: 'Invited person', password: 'long enough to be safe' });
  expect(joined.status).toBe(303);
});

test('core is not asked about the session of a form without one that arrives bit by bit', async () => {
  const visitor = desk.visitor();
  const form = new URLSearchParams({ _csrf: formTokenOf(await visitor.get('/sign-in')) }).toString();
  const before = await sessionsRead(stack);
  const request = httpRequest(`${stack.dashboards[0]?.origin ?? ''}/sign-in`, {
    method: 'POST',
    agent: false,
    headers: {
      cookie: [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': form.length,
      // The dashboard asks for the body when it has begun the request.
      expect: '100-continue',
    },
  });
  request.flushHeaders();
  await once(request, 'continue');
  request.end(form);
  const [answer] = (await once(request, 'response')) as [IncomingMessage];

  expect(answer.resume().statusCode).toBe(400);
  expect(await sessionsRead(stack)).toBe(before);
});
