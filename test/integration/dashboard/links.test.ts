import { describe, expect, test } from '@jest/globals';
import { AccountService, MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import { headingOf } from '../../support/customer.ts';
import { startMailServer } from '../../support/mail-server.ts';
import type { ReceivedMail } from '../../support/mail-server.ts';
import { shared, sharedMerchant, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

const mailServer = shared(() => startMailServer({ authOptional: true, disabledCommands: ['STARTTLS'] }));
const mailTo = (email: string, text = '') =>
  waitUntil(`a mail to ${email} with: ${text}`, () =>
    mailServer.mails.find((mail) => mail.to === email && mail.text.includes(text)),
  );
const resetLinkIn = (mail: ReceivedMail): string => /\/reset\/[A-Za-z0-9_-]+/.exec(mail.text)?.[0] ?? '';

const stack = sharedStack({
  ...{ facades: 0, dashboards: 1 },
  settings: {
    get GATEHOUSE_SMTP_URL() {
      return `smtp://127.0.0.1:${mailServer.port}`;
    },
    GATEHOUSE_MAIL_FROM: 'gatehouse@pay.example',
  },
});
const desk = sharedDashboardDesk(stack);
const merchant = sharedMerchant(stack);

const invite = async (email: string, role = MemberRole.DEVELOPER): Promise<string> => {
  const { token } = await stack
    .client(AccountService, 'operator')
    .inviteUser({ email, merchantId: merchant.id, role });
  return `/invitation/${token}`;
};

describe('an invitation', () => {
  test('creates an account, signs in, and works once', async () => {
    const link = await invite('new@shop.example');
    const visitor = desk.visitor();

    const page = await visitor.get(link);
    const weak = await visitor.post(link, { name: 'Almaz', password: 'password1234' });
    const short = await visitor.post(link, { name: 'Almaz', password: 'short' });
    const joined = await visitor.post(link, { name: '👟 Almaz', password: 'four unrelated words here' });
    const again = await desk.visitor().get(link);

    expect(page.body).toContain('new@shop.example');
    expect(page.body).toContain('Developer');
    expect([weak.status, short.status]).toEqual([400, 400]);
    expect(weak.body).toContain('too easy to guess');
    expect(short.body).toContain('Enter at least 12 characters.');
    expect(short.body).toContain('value="Almaz"');
    expect(joined.status).toBe(303);
    expect(visitor.cookies.get('gatehouse_browser')).toMatch(/^[\w-]{43}$/);
    const keys = await visitor.get(`/m/${merchant.id}/sandbox/keys`);
    expect(keys.status).toBe(200);
    expect(keys.body).toContain('<span class="avatar" aria-hidden="true">👟</span>');
    expect([again.status, headingOf(again)]).toEqual([404, 'This link is no longer valid']);
  });

  test('adds a membership to an existing account, with its own password only', async () => {
    const elsewhere = await stack.createMerchant();
    const user = await desk.users.member(elsewhere.id);
    const link = await invite(user.email, MemberRole.VIEWER);
    const visitor = desk.visitor();
    await visitor.get(link);

    const wrong = await visitor.post(link, { name: 'Mallory', password: 'four words nobody has' });
    const right = await visitor.post(link, { password: user.password });

    expect([wrong.status, right.status]).toEqual([401, 303]);
    expect((await visitor.get(`/m/${merchant.id}/sandbox/quick-start`)).status).toBe(200);
  });

  test('that was accepted meanwhile is not withdrawn, and its user stays', async () => {
    const owner = await desk.signedIn(await desk.users.member(merchant.id));
    const user = await desk.users.member(merchant.id);
    const path = `/m/${merchant.id}/team`;

    const late = await owner.post(`${path}/take-back`, { email: user.email });
    await invite('open@shop.example');
    const open = await owner.post(`${path}/take-back`, { email: 'open@shop.example' });

    expect([late.status, open.status]).toEqual([409, 303]);
    expect(late.body).toContain('Somebody else changed this first');
    const { body } = await owner.get(path);
    expect([body.includes(user.email), body.includes('open@shop.example</')]).toEqual([true, false]);
  });

  test.each([
    ['unknown', 'A'.repeat(43)],
    ['malformed', '<script>'],
  ])('that is %s gets 404 and the page about invalid links', async (_name, token) => {
    const answer = await desk.visitor().get(`/invitation/${encodeURIComponent(token)}`);

    expect([answer.status, headingOf(answer)]).toEqual([404, 'This link is no longer valid']);
  });
});

describe('a forgotten password', () => {
  test('is replaced by a link that is mailed, and the other sessions end', async () => {
    const user = await desk.users.member(merchant.id);
    const before = await desk.signedIn(user);
    const visitor = desk.visitor();

    const asked = await visitor.post('/reset', { email: user.email });
    const link = resetLinkIn(await mailTo(user.email));
    // The preview of a mail program opens the link too.
    const opened = [await desk.visitor().get(link), await visitor.get(link)];
    const set = await visitor.post(link, { password: 'another four unrelated words' });
    const again = [
      await visitor.get(link),
      await visitor.post(link, { password: 'yet another four unrelated words' }),
      await visitor.post(link, { password: 'short' }),
    ];
    const entered = await visitor.post('/sign-in', {
      email: user.email,
      password: 'another four unrelated words',
    });

    expect(asked.body).toContain('If this address has an account');
    expect(opened.map(({ status }) => status)).toEqual([200, 200]);
    expect(set.headers.get('location')).toBe('/sign-in?set=1');
    for (const page of again) {
      expect([page.status, headingOf(page)]).toEqual([404, 'This link is no longer valid']);
      expect(page.body).toContain('href="/reset">Request a new link<');
    }
    expect(entered.status).toBe(303);
    expect((await before.get(`/m/${merchant.id}/sandbox/keys`)).status).toBe(303);
  });

  test('is mailed to the address of the account, however a stranger wrote it', async () => {
    const user = await desk.users.member(merchant.id);

    await desk.visitor().post('/reset', { email: user.email.toUpperCase() });
    const { to } = await waitUntil('the mail is there', () =>
      mailServer.mails.find((mail) => mail.to.toLowerCase() === user.email.toLowerCase()),
    );

    expect(to).toBe(user.email);
  });

  test('of an address without an account gets the same answer, and no mail is sent', async () => {
    const user = await desk.users.member(merchant.id);
    const [known, unknown] = [desk.visitor(), desk.visitor()];

    const answers = [
      await unknown.post('/reset', { email: 'nobody.at.all@shop.example' }),
      await known.post('/reset', { email: user.email }),
    ];
    await mailTo(user.email);

    const shown = answers.map(({ status, body }) => [
      status,
      /<main[^]*?role="status"[^]*?<\/div>/.exec(body)?.[0],
    ]);
    expect(shown[0]).toEqual(shown[1]);
    expect(mailServer.mails.map(({ to }) => to)).not.toContain('nobody.at.all@shop.example');
  });
});

test('an operator who helps with a password sees no link, and the user gets it by mail with a notice', async () => {
  const user = await desk.users.member(merchant.id, MemberRole.VIEWER);
  const operator = await desk.signedIn(await desk.users.operator());

  const asked = await operator.post('/operator/users/reset', { email: user.email });
  const link = resetLinkIn(await mailTo(user.email, '/reset/'));
  const shown = await operator.get('/operator/users');
  const visitor = desk.visitor();
  await visitor.get(link);
  await visitor.post(link, { password: 'another four unrelated words' });

  expect([asked.status, asked.body.includes('/reset/'), shown.body.includes(link)]).toEqual([
    303,
    false,
    false,
  ]);
  await mailTo(user.email, 'an operator requested');
  await mailTo(user.email, 'a new password was set');
});

test('no password, link, session or form token is in the log', async () => {
  const link = await invite('logged@shop.example');
  const visitor = desk.visitor();
  await visitor.get(link);
  await visitor.post(link, { name: 'Logged', password: 'words that are never logged' });
  await visitor.get(`/m/${merchant.id}/sandbox/keys`);
  const made = await visitor.post(`/m/${merchant.id}/sandbox/keys`, { label: 'logged' });
  const key = /<code id="secret">([^<]*)</.exec(made.body)?.[1] ?? '';

  const log = await waitUntil('the last line is there', () => {
    const lines = stack.dashboards[0]?.process.log ?? [];
    return lines.some(({ route, method }) => method === 'POST' && String(route).endsWith('/keys'))
      ? JSON.stringify(lines)
      : undefined;
  });

  expect(key).toMatch(/^svc_test_/);
  for (const secret of [
    'words that are never logged',
    link.split('/').at(-1) ?? '',
    key,
    visitor.cookies.get('gatehouse_session') ?? '',
    visitor.cookies.get('gatehouse_csrf') ?? '',
  ])
    expect(log).not.toContain(secret);
});
