import { request as httpRequest } from 'node:http';
import { expect, test } from '@jest/globals';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { sharedMerchant, sharedStack } from '../../support/shared-stack.ts';
import { formTokenOf } from '../../support/dashboard-visitor.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sessionsRead, sharedDashboardDesk } from './dashboard-desk.ts';

const stack = sharedStack({ facades: 0, dashboards: 1 });
const merchant = sharedMerchant(stack);
const desk = sharedDashboardDesk(stack);

test('a form that waited for its turn is refused when its session has ended meanwhile', async () => {
  const user = await desk.users.member(merchant.id, MemberRole.OWNER);
  const visitor = await desk.signedIn(user);
  const token = formTokenOf(await visitor.get('/account'));
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const url = `${stack.dashboards[0]?.origin ?? ''}/account/profile`;
  const before = await sessionsRead(stack);
  // Their bodies never arrive, so they keep all turns.
  const slow = Array.from({ length: 6 }, () => {
    const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded', 'content-length': 10 };
    const form = httpRequest(url, { method: 'POST', agent: false, headers });
    form.on('error', () => {}).flushHeaders();
    return form;
  });
  await waitUntil('they have all turns', async () => (await sessionsRead(stack)) >= before + 6);
  const waiting = visitor.post('/account/profile', { _csrf: token, name: 'Another Name', language: 'en' });
  await waitUntil('the form waits', async () => (await sessionsRead(stack)) >= before + 7);
  await desk.end(visitor);
  for (const form of slow) form.destroy();

  await waiting;
  const again = await desk.signedIn(user);
  expect((await again.get('/account')).body).not.toContain('Another Name');
});

test('one user cannot use up the dashboard, and has it again when the flood is over', async () => {
  const [user, other] = await Promise.all(
    [1, 2].map(async () => desk.signedIn(await desk.users.member(merchant.id, MemberRole.OWNER))),
  );
  const cookie = [...(user?.cookies ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  const url = `${stack.dashboards[0]?.origin ?? ''}/account/profile`;
  const statuses: (number | undefined)[] = [];
  /** A form whose body never arrives. */
  const send = () => {
    const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded', 'content-length': 10 };
    const form = httpRequest(url, { method: 'POST', agent: false, headers });
    form.on('response', (response) => statuses.push(response.resume().statusCode)).on('error', () => {});
    form.flushHeaders();
    return form;
  };
  // Six are read at a time, and 60 wait. On a slow machine some end at their time limit, and others take their places.
  const flood: ReturnType<typeof send>[] = [];
  await waitUntil('one is refused', () => {
    for (let more = flood.length === 0 ? 67 : 5; more > 0; more -= 1) flood.push(send());
    return statuses.includes(503);
  });
  const pageOfOther = await other?.get('/account');
  for (const form of flood) form.destroy();
  const page = await waitUntil('the user has pages again', async () => {
    const answer = await user?.get('/account');
    return answer?.status === 200 && answer;
  });

  expect(pageOfOther?.status).toBe(200);
  expect(page.body).toContain('/account/profile');
});
