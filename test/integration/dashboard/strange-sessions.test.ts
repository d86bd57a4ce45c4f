import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sessionCookie, sharedDashboardDesk } from './dashboard-desk.ts';

const stack = sharedStack({ facades: 0, dashboards: 1 });
const desk = sharedDashboardDesk(stack);

const openWith = async (cookie: string) => {
  const origin = stack.dashboards[0]?.origin ?? '';
  const answer = await fetch(`${origin}/sign-in`, { headers: { cookie } });
  await answer.text();
  return answer;
};
const madeUp = () => openWith(`${sessionCookie}=${randomBytes(32).toString('base64url')}`);

test('core is not asked about every session that a site makes up, and its users continue', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const user = await desk.users.member(merchantId, MemberRole.VIEWER);
  const visitor = await desk.signedIn(user);
  await visitor.get('/account');

  const refused = await waitUntil('made-up sessions are refused', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, madeUp));
    return answers.find(({ status }) => status === 429);
  });

  expect(refused.headers.get('retry-after')).toMatch(/^[1-9][0-9]?$/);
  expect((await visitor.get('/account')).status).toBe(200);
  expect((await desk.visitor().signIn(user)).status).toBe(303);
});
