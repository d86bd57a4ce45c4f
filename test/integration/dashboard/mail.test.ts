import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SMTPServerOptions } from 'smtp-server';
import { createMailer } from '../../../src/dashboard/mail/mailer.ts';
import { headingOf } from '../../support/customer.ts';
import type { PageAnswer } from '../../support/customer.ts';
import { MemberRole } from '../../../src/gen/gatehouse/v1/account_service_pb.js';
import type { TestUser } from '../../support/dashboard-users.ts';
import { createDashboardVisitor } from '../../support/dashboard-visitor.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import type { GatehouseProcess, LogLine } from '../../support/gatehouse-process.ts';
import { startInline } from '../../support/inline-process.ts';
import { keptLog } from '../../support/kept-log.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { closersOfEachTest, sharedMerchant, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openAuthority } from '../webhooks/certificates.ts';
import type { Certificate } from '../webhooks/certificates.ts';
import { refusingPort } from '../webhooks/receivers.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

const login = { user: 'gatehouse@pay.example', password: 'p@ss:word/with %' };

const authority = openAuthority();
/** The values before a test changes them. */
const usualAuthorities = getCACertificates();
let certificate: Certificate;
const stack = sharedStack({ facades: 0 });
const desk = sharedDashboardDesk(stack);
const merchant = sharedMerchant(stack);
const closers = closersOfEachTest();
/** The only owner, because another one would get a mail about the invitation. */
let ownerLogin: TestUser;

beforeAll(async () => {
  certificate = authority.issue({ names: 'DNS:localhost' });
  ownerLogin = await desk.users.member(merchant.id);
});
afterAll(() => {
  setDefaultCACertificates(usualAuthorities);
  authority.close();
});

/** A mail server that accepts mail only after our login, and its URL with that login or another one. */
async function openMailServer(options: SMTPServerOptions) {
  /** The passwords that clients sent. */
  const logins: string[] = [];
  const server = await startMailServer({
    ...certificate,
    onAuth: ({ username, password }, _session, done) => {
      logins.push(password ?? '');
      if (username === login.user && password === login.password) done(null, { user: username });
      else done(new Error('Those are not the right ones'));
    },
    ...options,
  });
  closers.push(server.close);
  const urlWith = ({ user, password } = login): string =>
    `smtp${options.secure === true ? 's' : ''}://${encodeURIComponent(user)}:${encodeURIComponent(password)}@localhost:${server.port}`;
  return { ...server, logins, urlWith };
}

/** Starts a server of the test itself, and returns its port. */
async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  });
  return (server.address() as AddressInfo).port;
}

const urlOfNobody = `smtp://localhost:${refusingPort}`;

interface Desk {
  readonly owner: DashboardVisitor;
  readonly process: GatehouseProcess;
  readonly invite: (email: string) => Promise<PageAnswer>;
}

/** Signs in an owner at a dashboard that mails by `smtpUrl`. */
async function deskWithMail(smtpUrl: string, trusted: readonly string[] = [authority.cert]): Promise<Desk> {
  // As NODE_EXTRA_CA_CERTS does for a separate process.
  setDefaultCACertificates([...usualAuthorities, ...trusted]);
  const process = await startInline('dashboard', {
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
    GATEHOUSE_WEBHOOKS_ADDRESSES: '127.0.0.1:1',
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.dashboard,
    GATEHOUSE_DASHBOARD_PORT: '0',
    GATEHOUSE_SMTP_URL: smtpUrl,
    GATEHOUSE_MAIL_FROM: 'gatehouse@pay.example',
  });
  closers.push(() => process.stop());
  const owner = createDashboardVisitor(String(process.ready['dashboard']));
  await owner.signIn(ownerLogin);
  const team = `/m/${merchant.id}/team`;
  await owner.get(team);
  return { owner, process, invite: (email) => owner.post(`${team}/invite`, { email, role: 'viewer' }) };
}

const notSent =
  'a mail was not sent; check the mail server that GATEHOUSE_SMTP_URL names. If the mail has a link, its recipient must request another one';
const lineOf = ({ log }: GatehouseProcess, msg: string): Promise<LogLine> =>
  waitUntil(`the log says: ${msg}`, () => log.find((line) => line.msg === msg));
const linkIn = (text: string): string =>
  /\/(?:invitation|reset)\/[\w-]{43}/.exec(text.replace(/=\r?\n/g, ''))?.[0] ?? '';

/**
 * Expects that the inviter sees that the mail was not sent, and gets a working link instead. Returns the page and the line of the log.
 */
async function expectLinkShown({ process, invite }: Desk, email: string) {
  const answer = await invite(email);
  expect(answer.status).toBe(200);
  expect(headingOf(answer)).toBe('The link for the invitation');
  expect(answer.body).toContain('The mail was not sent');
  const visitor = createDashboardVisitor(
    new URL(/http:[^<]*\/invitation\//.exec(answer.body)?.[0] ?? '').origin,
  );
  expect((await visitor.get(linkIn(answer.body))).status).toBe(200);
  return { answer, line: await lineOf(process, notSent) };
}

const ways = [
  ['over TLS from the first byte', { secure: true }],
  ['over TLS after STARTTLS', { secure: false }],
] as const;

describe('mails are sent', () => {
  test.each(ways)('%s, after the login', async (_name, options) => {
    const server = await openMailServer(options);
    const { owner, process, invite } = await deskWithMail(server.urlWith());
    const to = `secure-${options.secure}@shop.example`;

    const answer = await invite(to);
    const page = await owner.get(`/m/${merchant.id}/team`);

    const mail = server.mails.find((each) => each.to === to);
    expect(answer.status).toBe(303);
    expect(page.body).toContain(`${to} is invited. The link is sent by mail.`);
    expect(mail).toMatchObject({ to, isSecure: true, user: login.user });
    expect((await owner.get(linkIn(mail?.text ?? ''))).status).toBe(200);
    expect(await lineOf(process, 'mail sent')).toMatchObject({
      request_id: answer.headers.get('x-request-id'),
    });
  });

  test('to a server without login and TLS, which may be on the same machine', async () => {
    const { port, mails } = await openMailServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
    });
    const { invite } = await deskWithMail(`smtp://localhost:${port}`);

    expect((await invite('plain@shop.example')).status).toBe(303);
    expect(mails).toMatchObject([{ to: 'plain@shop.example', isSecure: false }]);
  });
});

describe('the inviter sees the link', () => {
  test('when the login is wrong, and the log has the reason without password and link', async () => {
    const { mails, urlWith } = await openMailServer({ secure: true });
    const wrong = { ...login, password: 'not the password' };
    const own = await deskWithMail(urlWith(wrong));

    const { answer, line } = await expectLinkShown(own, 'unmailed@shop.example');

    expect(line).toMatchObject({ level: 'error', err: { code: 'EAUTH', responseCode: 535 } });
    expect(line['request_id']).toBe(answer.headers.get('x-request-id'));
    expect(answer.body).toContain(String(line['request_id']));
    const log = JSON.stringify(own.process.log);
    expect(log).not.toContain(wrong.password);
    expect(log).not.toContain(Buffer.from(`\0${wrong.user}\0${wrong.password}`).toString('base64'));
    expect(log).not.toContain(linkIn(answer.body));
    expect(log).not.toContain('unmailed@shop.example');
    expect(mails).toEqual([]);
  });

  test('when the server offers no TLS, and the login is not sent', async () => {
    const { logins, mails, urlWith } = await openMailServer({
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
    });

    const { line } = await expectLinkShown(await deskWithMail(urlWith()), 'stripped@shop.example');

    expect(line).toMatchObject({ err: { code: 'ETLS' } });
    expect([logins, mails]).toEqual([[], []]);
  });

  test.each(ways)(
    'when the certificate is not trusted, %s, and the login is not sent',
    async (_name, options) => {
      const { logins, urlWith } = await openMailServer(options);

      await expectLinkShown(await deskWithMail(urlWith(), []), `untrusted-${options.secure}@shop.example`);

      expect(logins).toEqual([]);
    },
  );

  test('when nothing listens', async () => {
    await expectLinkShown(await deskWithMail(urlOfNobody), 'nobody-there@shop.example');
  });

  test('when the server accepts no mail for that address', async () => {
    const { urlWith } = await openMailServer({
      secure: true,
      onRcptTo: ({ address }, _session, done) => done(new Error(`There is no ${address} here`)),
    });
    const own = await deskWithMail(urlWith());

    const { line } = await expectLinkShown(own, 'nosuch@shop.example');

    expect(line['err']).toMatchObject({
      code: 'EENVELOPE',
      message: expect.stringContaining('There is no … here'),
    });
    expect(JSON.stringify(own.process.log)).not.toContain('nosuch@');
  });

  test('when the server never answers, after the time that a user waits for a page', async () => {
    const port = await listen(createServer());

    await expectLinkShown(await deskWithMail(`smtp://localhost:${port}`), 'silent@shop.example');
  });
});

test('a request for a new password gets the same answer when its mail fails, and the log has the failure', async () => {
  const user = await desk.users.member(merchant.id, MemberRole.VIEWER);
  const { owner, process } = await deskWithMail(urlOfNobody);

  const answer = await owner.post('/reset', { email: user.email });
  const line = await lineOf(process, notSent);

  expect(answer.body).toContain('If this address has an account');
  expect(line['request_id']).toBe(answer.headers.get('x-request-id'));
  expect(JSON.stringify(process.log)).not.toMatch(/\/reset\/[\w-]{43}/);
});

test('invitations that wait for a slow mail server delay no link for a password, and those above ten of a merchant are refused', async () => {
  let isSlow = true;
  const waiting: (() => void)[] = [];
  const { mails, urlWith } = await openMailServer({
    secure: true,
    onRcptTo: ({ address }, _session, done) => {
      if (isSlow && address.startsWith('invited-')) waiting.push(done);
      else done();
    },
  });
  const { process } = await deskWithMail(urlWith());
  const busy = await stack.createMerchant();
  // The dashboard answers six requests of a user at a time, so these twelve need more than one owner.
  const inviters = await Promise.all(
    [0, 1, 2].map(async () => {
      const visitor = createDashboardVisitor(String(process.ready['dashboard']));
      await visitor.signIn(await desk.users.member(busy.id));
      return visitor;
    }),
  );
  const user = await desk.users.member(merchant.id, MemberRole.VIEWER);
  const isRefused = ({ body }: PageAnswer) => body.includes('Too many mails are waiting for the mail server');

  const refused: PageAnswer[] = [];
  const answers = inviters.flatMap((inviter, index) =>
    [0, 1, 2, 3].map(async (count) => {
      const email = `invited-${index}-${count}@shop.example`;
      const invite = () => inviter.post(`/m/${busy.id}/team/invite`, { email, role: 'viewer' });
      let answer = await invite();
      // On a busy machine core may answer too late. Then no mail waits.
      while (answer.status === 503) answer = await invite();
      if (isRefused(answer)) refused.push(answer);
    }),
  );
  await waitUntil('two invitations are refused', () => refused.length === 2);
  await createDashboardVisitor(String(process.ready['dashboard'])).post('/reset', { email: user.email });
  await waitUntil('the link for a password is mailed', () => mails.find(({ to }) => to === user.email));
  const early = mails.filter(({ to }) => to.startsWith('invited-'));
  isSlow = false;
  for (const done of waiting) done();
  await Promise.all(answers);
  const invited = await waitUntil('the others are mailed', () => {
    const to = new Set(mails.map((mail) => mail.to).filter((address) => address.startsWith('invited-')));
    return to.size === 10 ? to : undefined;
  });

  expect([early.length, invited.size, refused.length]).toEqual([0, 10, 2]);
  for (const answer of refused) expect(linkIn(answer.body)).not.toBe('');
});

test('a mail to a server whose reply never ends is abandoned, and the next mail is sent', async () => {
  let isStalling = true;
  let lines = 0;
  // Each line of a reply with a hyphen says that another line follows. Long after the limit the reply ends, so that the test does.
  const server = createServer((socket) => {
    const drip = setInterval(() => {
      if (!isStalling) return;
      lines += 1;
      isStalling = lines < 1_200;
      socket.write(isStalling ? '250-wait\r\n' : '250 ok\r\n');
    }, 50);
    socket.on('close', () => clearInterval(drip));
    socket.write('220 mail.example\r\n');
    socket.on('data', (bytes) => {
      const text = bytes.toString();
      if (text.startsWith('DATA')) socket.write('354 go on\r\n');
      else if (!isStalling || text.startsWith('EHLO')) socket.write('250 ok\r\n');
    });
  });
  const { logger, log } = keptLog({ level: 'info' });
  const url = `smtp://127.0.0.1:${await listen(server)}`;
  const mailer = createMailer(url, 'gatehouse@pay.example', logger, 5_000);
  const about = { kind: 'notice' } as const;
  const mail = { about, to: 'abebe@shop.example', subject: 'Notice', text: 'Hello', requestId: 'r-1' };

  // As many as there are connections.
  const stalled = await Promise.all([mailer.send(mail), mailer.send(mail)]);
  isStalling = false;
  const next = await mailer.send({ ...mail, requestId: 'r-2' });
  await mailer.close();

  expect({ stalled, next }).toEqual({ stalled: ['failed', 'failed'], next: 'sent' });
  expect(log).toMatchObject([
    { request_id: 'r-1', msg: notSent },
    { request_id: 'r-1', msg: notSent },
    { request_id: 'r-2', msg: 'mail sent' },
  ]);
});
