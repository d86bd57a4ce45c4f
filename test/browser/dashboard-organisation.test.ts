import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Secret, TOTP } from 'otpauth';
import type { Browser, Page } from 'playwright-core';
import { AccountService, MemberRole } from '../../src/gen/gatehouse/v1/account_service_pb.js';
import { launchChromium } from '../support/chromium.ts';
import { makeOperatorsOld, openDashboardUsers } from '../support/dashboard-users.ts';
import type { DashboardUsers, TestUser } from '../support/dashboard-users.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { keepPicture, problemsOf } from './accessible.ts';
import { openPage } from './dashboard-site.ts';

let stack: Stack;
let browser: Browser;
let users: DashboardUsers;
let origin: string;
beforeAll(async () => {
  [stack, browser] = await Promise.all([
    startStack({ facades: 0, dashboards: 1, webhooks: 1 }),
    launchChromium(),
  ]);
  users = openDashboardUsers(stack);
  origin = stack.dashboards[0]?.origin ?? '';
});
afterAll(() => Promise.all([browser.close(), stack.stop()]));

async function enter(user: TestUser) {
  const page = await openPage(browser, origin, user);
  return { page, context: page.context() };
}

const newMerchant = async () => (await stack.createMerchant()).id;
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

const totpOf = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) });

/** The code of the next step, which was not used yet and is accepted. */
const nextCode = (secret: string): string => totpOf(secret).generate({ timestamp: Date.now() + 30_000 });

describe('the team', () => {
  test('an owner invites a user, who accepts by the shown link, and changes the role', async () => {
    const merchantId = await newMerchant();
    const { page, context } = await enter(await users.member(merchantId));
    await page.goto(`${origin}/m/${merchantId}/team`);
    await page.getByLabel('E-mail address').fill('sara@shop.example');
    await page.getByLabel('Role', { exact: true }).selectOption('viewer');
    await page.getByRole('button', { name: 'Invite' }).click();
    await heading(page, 'The link for the invitation');
    const link = (await page.locator('#link').textContent()) ?? '';
    await page.getByRole('link', { name: 'I have passed it on' }).click();
    await page.getByText('Open invitations').waitFor();

    const guest = await browser.newContext({ locale: 'en-GB' });
    const guestPage = await guest.newPage();
    await guestPage.goto(link);
    await guestPage.locator('#name').fill('Sara <script>alert(1)</script>');
    await guestPage.locator('#password').fill('a quiet river at dawn');
    await guestPage.locator('main form button').click();
    await guestPage.locator('.menu-user').waitFor();
    await guest.close();

    await page.reload();
    expect(await page.getByText('Open invitations').count()).toBe(0);
    const row = page.getByRole('row').filter({ hasText: 'sara@shop.example' });
    await row.getByText('Change role').first().click();
    await row.getByLabel('New role').selectOption('developer');
    await row.getByRole('button', { name: 'Change role' }).click();
    await page.getByText('is now Developer').waitFor();
    expect(await page.locator('main').textContent()).toContain('Sara <script>alert(1)</script>');
    await context.close();
  });

  test('when two people change a role at once, the second sees a notice and the current role', async () => {
    const merchantId = await newMerchant();
    const [owner, other] = [
      await users.member(merchantId),
      await users.member(merchantId, MemberRole.VIEWER),
    ];
    const { page, context } = await enter(owner);
    await page.goto(`${origin}/m/${merchantId}/team`);
    await stack.client(AccountService, 'operator').changeMembership({
      merchantId,
      userId: other.userId,
      role: MemberRole.OWNER,
      expectedRole: MemberRole.VIEWER,
    });

    const row = page.getByRole('row').filter({ hasText: other.email });
    await row.getByText('Change role').first().click();
    await row.getByLabel('New role').selectOption('developer');
    await row.getByRole('button', { name: 'Change role' }).click();

    await page.getByText('Somebody else changed this first').waitFor();
    expect(await page.getByRole('row').filter({ hasText: other.email }).textContent()).toContain('Owner');
    await context.close();
  });

  test('the last owner cannot leave', async () => {
    const merchantId = await newMerchant();
    const { page, context } = await enter(await users.member(merchantId));
    await page.goto(`${origin}/m/${merchantId}/team`);
    await page.getByText('Remove', { exact: false }).first().click();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('This is the last owner').waitFor();
    await context.close();
  });
});

describe('a user', () => {
  test('changes the language, and the next page is in that language', async () => {
    const { page, context } = await enter(await users.member(await newMerchant()));
    await page.goto(`${origin}/account`);
    await page.getByLabel('Name').fill('ሳራ በቀለ');
    await page.getByLabel('Language', { exact: true }).selectOption('am');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('ተቀምጧል').waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('am');
    expect(await page.locator('#name').inputValue()).toBe('ሳራ በቀለ');
    await context.close();
  });

  test('changes the password, and the session in another browser ends', async () => {
    const user = await users.member(await newMerchant());
    const [here, elsewhere] = [await enter(user), await enter(user)];
    await here.page.goto(`${origin}/account`);
    await here.page.getByLabel('Current password').fill('not this one');
    await here.page.getByLabel('New password').fill('a quiet river at dawn');
    await here.page.getByRole('button', { name: 'Change password' }).click();
    await here.page.getByText('The current password is wrong.').waitFor();
    await here.page.getByLabel('Current password').fill(user.password);
    await here.page.getByLabel('New password').fill('passwordpassword');
    await here.page.getByRole('button', { name: 'Change password' }).click();
    await here.page.getByText('too easy to guess').waitFor();
    await here.page.getByLabel('Current password').fill(user.password);
    await here.page.getByLabel('New password').fill('a quiet river at dawn');
    await here.page.getByRole('button', { name: 'Change password' }).click();
    await here.page.getByText('Your password is changed').waitFor();

    await elsewhere.page.goto(`${origin}/account`);
    await elsewhere.page.locator('#password').waitFor();
    expect(elsewhere.page.url()).toContain('/sign-in');
    await Promise.all([here.context.close(), elsewhere.context.close()]);
  });

  test('turns on one-time codes as the page explains, signs in with one, and turns them off', async () => {
    const user = await users.member(await newMerchant());
    const { page, context } = await enter(user);
    await page.goto(`${origin}/account`);
    await page.getByRole('button', { name: 'Turn on' }).click();
    await heading(page, 'Turn one-time codes on');
    await keepPicture(page, 'set-up-codes-1280-en');
    expect(await problemsOf(page)).toEqual([]);
    await page.locator('#code').fill('000000');
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.getByText('Wrong code').waitFor();
    const secret = (await page.locator('#secret').textContent()) ?? '';
    await page.locator('#code').fill(totpOf(secret).generate());
    await page.getByRole('button', { name: 'Turn on' }).click();
    await heading(page, 'One-time codes are on');
    await keepPicture(page, 'recovery-codes-1280-en');
    expect(await problemsOf(page)).toEqual([]);
    const codes = ((await page.locator('#codes').textContent()) ?? '').trim().split('\n');
    expect(codes).toHaveLength(10);
    await page.getByRole('link', { name: 'I have saved them' }).click();
    await context.close();

    const again = await browser.newContext({ locale: 'en-GB' });
    const second = await again.newPage();
    await second.goto(`${origin}/sign-in`);
    await second.locator('#email').fill(user.email);
    await second.locator('#password').fill(user.password);
    await second.locator('main form button').first().click();
    await second.locator('#code').fill(nextCode(secret));
    await second.locator('main form button').first().click();
    await second.locator('.menu-user').waitFor();
    await second.goto(`${origin}/account`);
    await second.getByText('Turn off').first().click();
    await second.getByRole('button', { name: 'Turn off' }).click();
    await second.getByText('One-time codes are off').waitFor();
    await again.close();
  });
});

describe('the audit log', () => {
  test('describes each change with its author in a sentence, with filters and pages', async () => {
    const merchantId = await newMerchant();
    const owner = await users.member(merchantId);
    const accounts = stack.client(AccountService, 'dashboard');
    // One person may invite 20 in an hour.
    const inviters = [await users.member(merchantId), await users.member(merchantId), owner];
    for (let count = 0; count < 55; count += 1)
      await accounts.inviteUser(
        { email: `guest-${count}@shop.example`, merchantId, role: MemberRole.VIEWER },
        { headers: { 'x-gatehouse-actor': inviters[Math.floor(count / 20)]?.userId ?? '' } },
      );
    const { page, context } = await enter(owner);
    await page.goto(`${origin}/m/${merchantId}/audit`);
    await page.getByText('guest-54@shop.example was invited as viewer.').first().waitFor();
    expect(await page.getByRole('row').nth(1).textContent()).toContain(owner.email);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByText('guest-3@shop.example was invited as viewer.').first().waitFor();
    await page.getByRole('link', { name: 'Newer' }).click();
    await page.getByLabel('Kind of change').selectOption('api_key');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page
      .getByText(/The API key .* was created for sandbox/)
      .first()
      .waitFor();
    expect(await page.getByText('was invited as').count()).toBe(0);
    await page.getByLabel('To (inclusive)').fill('2020-01-31');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('No entries match').waitFor();
    await context.close();
  });
});

describe('operators', () => {
  test('invite each other, approve help for an account together, and disable and enable a user', async () => {
    const [first, second] = [await enter(await users.operator()), await enter(await users.operator())];
    await makeOperatorsOld(stack);
    const member = await users.member(await newMerchant());
    const { page } = first;
    await page.goto(`${origin}/operator/users`);
    await page.locator('#email').fill('ops2@gateway.example');
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.locator('#link').waitFor();
    await page.getByRole('link', { name: 'I have passed it on' }).click();
    await page.getByText('ops2@gateway.example').first().waitFor();
    await page.locator('#help-email').fill('nobody@shop.example');
    await page.getByRole('button', { name: 'Request a new password' }).click();
    await page.getByText('No account has this e-mail address').waitFor();
    await page.locator('#help-email').fill(member.email);
    await page.getByRole('button', { name: 'Request a new password' }).click();
    await page.getByText(`Another operator must approve the request for ${member.email}`).waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await keepPicture(page, 'operator-asked-1280-en');
    expect(await problemsOf(page)).toEqual([]);
    await second.page.goto(`${origin}/operator/users`);
    const asked = second.page.getByRole('row').filter({ hasText: member.email });
    await asked.getByRole('button', { name: 'Approve' }).click();
    await heading(second.page, 'Password reset link');
    expect(await second.page.locator('#link').textContent()).toMatch(/\/reset\/[\w-]{43}$/);
    await second.page.getByRole('link', { name: 'I have passed it on' }).click();
    await page.goto(`${origin}/operator/users`);
    await page.locator('#help-email').fill(member.email);
    await page.getByRole('button', { name: 'Disable account' }).click();
    await page.getByText('is disabled').waitFor();
    await page.locator('#help-email').fill(member.email);
    await page.getByRole('button', { name: 'Enable account' }).click();
    await page.getByText('can sign in again').waitFor();
    await Promise.all([first.context.close(), second.context.close()]);
  });
});
