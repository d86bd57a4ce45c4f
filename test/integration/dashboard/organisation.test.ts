import { describe, expect, test } from '@jest/globals';
import { AccountService, MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { headingOf } from '../../support/customer.ts';
import { makeOperatorsOld } from '../../support/dashboard-users.ts';
import { addMembers } from '../../support/many-members.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

const stack = sharedStack({ facades: 0, dashboards: 1 });
const desk = sharedDashboardDesk(stack);

/** A new merchant with its owner. */
async function openTeam() {
  const { merchant, user, visitor: owner } = await desk.atNewMerchant();
  return { merchantId: merchant.id, user, owner, team: `/m/${merchant.id}/team` };
}

describe('the team', () => {
  test('changes a role once: the second of two people sees a notice and the current role', async () => {
    const { merchantId, owner, team } = await openTeam();
    const user = await desk.users.member(merchantId, MemberRole.VIEWER);
    const member = await desk.signedIn(user);
    await member.post('/account/profile', { name: 'Sara <script>alert(1)</script>', language: 'en' });
    const change = (role: string) => owner.post(`${team}/${user.userId}/role`, { role, seen: 'viewer' });

    const changed = await change('developer');
    const page = await owner.get(team);
    const late = await change('owner');

    expect([changed.status, late.status]).toEqual([303, 409]);
    expect(page.body).toContain('Sara &lt;script&gt;alert(1)&lt;/script&gt; is now Developer');
    expect(late.body).toContain('Somebody else changed this first');
    expect(late.body).toMatch(new RegExp(`${user.userId}/role">[^]*?value="developer" selected`));
  });

  test('of more than 500 users says so, and a search finds the others', async () => {
    const { merchantId, owner, team } = await openTeam();
    await addMembers(stack.databaseUrl, merchantId, 501);
    const more = 'The list shows the first 500 users';

    const all = await owner.get(team);
    const found = await owner.get(`${team}?text=person+1500`);

    expect([all.body.includes(more), all.body.includes('Person 1500')]).toEqual([true, false]);
    expect(all.body).toContain('role="search"');
    expect([found.body.includes(more), found.body.includes('Person 1500')]).toEqual([false, true]);
    expect(found.body).not.toContain('Person 1499');
  });

  test('has another owner also if both are not among its first 500 users', async () => {
    const { merchantId, owner } = await openTeam();
    await addMembers(stack.databaseUrl, merchantId, 501);
    const page = async () => (await owner.get(`/m/${merchantId}/refund-approval`)).body;
    const alone = 'This merchant has one owner.';

    expect(await page()).toContain(alone);
    await desk.users.member(merchantId);
    expect(await page()).not.toContain(alone);
  });

  test('keeps its last owner', async () => {
    const { user, owner, team } = await openTeam();

    const refused = await owner.post(`${team}/remove`, { email: user.email });

    expect(refused.status).toBe(409);
    expect(refused.body).toContain('This is the last owner');
    expect((await owner.get(team)).body).toContain(user.email);
  });
});

describe('a user', () => {
  test('changes the name and the language, and the next page is in that language', async () => {
    const { owner } = await openTeam();

    const saved = await owner.post('/account/profile', { name: 'ሳራ በቀለ', language: 'am' });
    const { body } = await owner.get('/account');

    expect(saved.status).toBe(303);
    for (const part of ['<html lang="am">', 'ተቀምጧል', 'value="ሳራ በቀለ"']) expect(body).toContain(part);
  });

  test('chooses the language in the menu, and it remains on the next pages', async () => {
    const { merchantId, owner } = await openTeam();
    const keys = `/m/${merchantId}/sandbox/keys`;

    const [, other = ''] = /href="([^"]*)" lang="am"/.exec((await owner.get(keys)).body) ?? [];
    await owner.get(other);

    expect(headingOf(await owner.get(keys))).toBe('የAPI ቁልፎች');
  });

  test('changes the password with the current one, and the session in another browser ends', async () => {
    const { user, owner } = await openTeam();
    const elsewhere = await desk.signedIn(user);
    const change = (current_password: string, new_password: string) =>
      owner.post('/account/password', { current_password, new_password });

    const wrong = await change('not this one', 'a quiet river at dawn');
    const weak = await change(user.password, 'passwordpassword');
    const right = await change(user.password, 'a quiet river at dawn');

    expect([wrong.status, weak.status, right.status]).toEqual([400, 400, 303]);
    expect(wrong.body).toContain('id="current_password-error">The current password is wrong.');
    expect(weak.body).toContain('id="new_password-error">This password is too easy to guess.');
    expect((await owner.get('/account')).body).toContain('Your password is changed.');
    expect((await elsewhere.get('/account')).headers.get('location')).toContain('/sign-in');
  });
});

test.each(['keys', 'webhooks', 'quick-start'])(
  'a switch leads from the page %s to the same page of the other environment',
  async (page) => {
    const { merchantId, owner } = await openTeam();
    const sandbox = (await owner.get(`/m/${merchantId}/sandbox/${page}`)).body;
    const [, other = ''] = /class="switch-production" href="([^"]*)"/.exec(sandbox) ?? [];
    const production = (await owner.get(other)).body;

    expect(other).toBe(`/m/${merchantId}/production/${page}`);
    expect(sandbox).toMatch(/class="switch-sandbox" [^>]*aria-current/);
    expect(production).toMatch(/class="switch-production" [^>]*aria-current/);
    expect([sandbox, production].map((body) => body.includes('class="sandbox-note"'))).toEqual([true, false]);
    expect(production).toMatch(/<title>[^<]*Production/);
  },
);

test('the audit log describes each change with its author in a sentence, with filters and pages', async () => {
  const { merchantId, user, owner } = await openTeam();
  const accounts = stack.client(AccountService, 'dashboard');
  // One person may invite 20 in an hour.
  const inviters = [await desk.users.member(merchantId), await desk.users.member(merchantId), user];
  for (let count = 0; count < 55; count += 1)
    await accounts.inviteUser(
      { email: `guest-${count}@shop.example`, merchantId, role: MemberRole.VIEWER },
      { headers: { 'x-gatehouse-actor': inviters[Math.floor(count / 20)]?.userId ?? '' } },
    );
  const log = `/m/${merchantId}/audit`;
  const linkIn = (body: string, rel: string): string =>
    (new RegExp(`href="([^"]*)" rel="${rel}"`).exec(body)?.[1] ?? '').replaceAll('&amp;', '&');

  const newest = (await owner.get(log)).body;
  const older = (await owner.get(linkIn(newest, 'next'))).body;
  const keys = (await owner.get(`${log}?kind=api_key`)).body;
  const none = (await owner.get(`${log}?to=2020-01-31`)).body;
  const reversed = await owner.get(`${log}?from=2026-02-02&to=2026-02-01`);

  expect(newest).toContain(`<bdi>${user.email}</bdi>`);
  expect(newest).toContain('guest-54@shop.example was invited as viewer.');
  expect(newest).not.toContain('guest-3@shop.example');
  expect(older).toContain('guest-3@shop.example was invited as viewer.');
  expect(linkIn(older, 'prev')).toBe(log);
  expect(keys).toMatch(/The API key .* was created for sandbox/);
  expect(reversed.status).toBe(400);
  expect(reversed.body).toContain('id="to-error">The end must be later than the beginning.');
  expect(keys).not.toContain('was invited as');
  expect(none).toContain('No entries match');
});

test('operators invite each other, approve help for an account together, and disable and enable a user', async () => {
  const [first, second] = [
    await desk.signedIn(await desk.users.operator()),
    await desk.signedIn(await desk.users.operator()),
  ];
  await makeOperatorsOld(stack);
  const { email } = await desk.users.member((await openTeam()).merchantId);
  const path = '/operator/users';

  const invited = await first.post(`${path}/invite`, { email: 'ops2@gateway.example' });
  const unknown = await first.post(`${path}/reset`, { email: 'nobody@shop.example' });
  await first.post(`${path}/reset`, { email });
  const asked = (await first.get(path)).body;
  const offered = (await second.get(path)).body;
  const approved = await second.post(`${path}/approve`, { email, help: 'password' });
  await first.post(`${path}/disable`, { email });
  const disabled = (await first.get(path)).body;
  await first.post(`${path}/enable`, { email });
  const enabled = (await first.get(path)).body;

  expect(invited.body).toMatch(/<code id="link">[^<]*\/invitation\/[\w-]{43}</);
  expect([unknown.status, unknown.body.includes('No account has this e-mail address')]).toEqual([404, true]);
  expect(asked).toContain('ops2@gateway.example');
  expect(asked).toContain(`Another operator must approve the request for ${email}`);
  expect([asked, offered].map((body) => body.includes('>Approve<'))).toEqual([false, true]);
  expect(headingOf(approved)).toBe('Password reset link');
  expect(approved.body).toMatch(/<code id="link">[^<]*\/reset\/[\w-]{43}</);
  expect(disabled).toContain(`The account of ${email} is disabled.`);
  expect(enabled).toContain('can sign in again');
});
