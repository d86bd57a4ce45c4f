import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SMTPServer } from 'smtp-server';
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
import { sharedMerchant, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openAuthority } from '../webhooks/certificates.ts';
import type { Certificate } from '../webhooks/certificates.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';
import { keptLog } from '../../support/kept-log.ts';

const login = { user: 'gatehouse@pay.example', password: 'p@ss:word/with %' };
const asUrl = ({ user, password }: typeof login): string =>
  `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;

interface Received {
  readonly to: string;
  readonly text: string;
  readonly user: unknown;
  readonly isSecure: boolean;
}

interface MailServer {
  readonly port: number;
  readonly mails: readonly Received[];
  /** The credentials that clients sent. */
  readonly logins: readonly string[];
  readonly close: () => Promise<void>;
}

const authority = openAuthority();
/** The values before a test changes them. */
const usualAuthorities = getCACertificates();
let certificate: Certificate;
const stack = sharedStack({ facades: 0 });
const desk = sharedDashboardDesk(stack);
const merchant = sharedMerchant(stack);
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

/** A mail server that accepts mail only after our login. */
async function startMailServer(options: SMTPServerOptions): Promise<MailServer> {
  const mails: Received[] = [];
  const logins: string[] = [];
  const server = new SMTPServer({
    ...certificate,
    onAuth: ({ username, password }, _session, done) => {
      logins.push(password ?? '');
      if (username === login.user && password === login.password) done(null, { user: username });
      else done(new Error('Those are not the right ones'));
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address).join(),
          text: Buffer.concat(chunks).toString(),
          user: session.user,
          isSecure: session.secure,
        });
        done();
      });
    },
    ...options,
  });
  // A client that does not trust the certificate disconnects, which is an error of the server's socket.
  server.on('error', () => undefined);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.server.address() as AddressInfo;
  return { port, mails, logins, close: () => new Promise((closed) => server.close(() => closed())) };
}

/** A port without a listener. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

interface Desk {
  readonly owner: DashboardVisitor;
  readonly process: GatehouseProcess;
  readonly invite: (email: string) => Promise<PageAnswer>;
}

/** Signs in an owner at a dashboard that mails by `smtpUrl`. */
async function withMail(
  smtpUrl: string,
  act: (desk: Desk) => Promise<void>,
  trusted: readonly string[] = [authority.cert],
): Promise<void> {
  // As NODE_EXTRA_CA_CERTS does for a separate process.
  setDefaultCACertificates([...usualAuthorities, ...trusted]);
  const dashboard = await startInline('dashboard', {
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
    GATEHOUSE_WEBHOOKS_ADDRESSES: '127.0.0.1:1',
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.dashboard,
    GATEHOUSE_DASHBOARD_PORT: '0',
    GATEHOUSE_SMTP_URL: smtpUrl,
    GATEHOUSE_MAIL_FROM: 'gatehouse@pay.example',
  });
  try {
    const owner = createDashboardVisitor(String(dashboard.ready['dashboard']));
    await owner.signIn(ownerLogin);
    const team = `/m/${merchant.id}/team`;
    await owner.get(team);
    const invite = (email: string) => owner.post(`${team}/invite`, { email, role: 'viewer' });
    await act({ owner, process: dashboard, invite });
  } finally {
    await dashboard.stop();
  }
}

const lineOf = ({ log }: GatehouseProcess, msg: string): Promise<LogLine> =>
  waitUntil(`the log says: ${msg}`, () => log.find((line) => line.msg === msg));
const linkIn = (text: string): string =>
  /\/(?:invitation|reset)\/[\w-]{43}/.exec(text.replace(/=\r?\n/g, ''))?.[0] ?? '';

/** Expects that the inviter sees that the mail was not sent, and gets a working link instead. */
async function expectLinkShown(answer: PageAnswer): Promise<void> {
  expect(answer.status).toBe(200);
  expect(headingOf(answer)).toBe('The link for the invitation');
  expect(answer.body).toContain('The mail was not sent');
  const visitor = createDashboardVisitor(
    new URL(/http:[^<]*\/invitation\//.exec(answer.body)?.[0] ?? '').origin,
  );
  expect((await visitor.get(linkIn(answer.body))).status).toBe(200);
}

describe('mails are sent', () => {
  test.each([
    ['over TLS from the first byte', 'smtps', { secure: true }],
    ['over TLS after STARTTLS', 'smtp', { secure: false }],
  ])('%s, after the login', async (_name, scheme, options) => {
    const server = await startMailServer(options);
    try {
      await withMail(
        `${scheme}://${asUrl(login)}@localhost:${server.port}`,
        async ({ owner, process, invite }) => {
          const to = `${scheme}@shop.example`;
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
        },
      );
    } finally {
      await server.close();
    }
  });

  test('to a server without login and TLS, which may be on the same machine', async () => {
    const server = await startMailServer({ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'] });
    try {
      await withMail(`smtp://localhost:${server.port}`, async ({ invite }) => {
        expect((await invite('plain@shop.example')).status).toBe(303);
        expect(server.mails).toMatchObject([{ to: 'plain@shop.example', isSecure: false }]);
      });
    } finally {
      await server.close();
    }
  });
});

describe('the inviter sees the link', () => {
  test('when the login is wrong, and the log has the reason without password and link', async () => {
    const server = await startMailServer({ secure: true });
    try {
      const wrong = { ...login, password: 'not the password' };
      await withMail(`smtps://${asUrl(wrong)}@localhost:${server.port}`, async ({ process, invite }) => {
        const answer = await invite('unmailed@shop.example');

        await expectLinkShown(answer);
        const line = await lineOf(process, 'a mail was not sent');
        expect(line).toMatchObject({ level: 'error', err: { code: 'EAUTH', responseCode: 535 } });
        expect(line['request_id']).toBe(answer.headers.get('x-request-id'));
        expect(answer.body).toContain(String(line['request_id']));
        const log = JSON.stringify(process.log);
        expect(log).not.toContain(wrong.password);
        expect(log).not.toContain(Buffer.from(`\0${wrong.user}\0${wrong.password}`).toString('base64'));
        expect(log).not.toContain(linkIn(answer.body));
        expect(log).not.toContain('unmailed@shop.example');
        expect(server.mails).toEqual([]);
      });
    } finally {
      await server.close();
    }
  });

  test('when the server offers no TLS, and the login is not sent', async () => {
    const server = await startMailServer({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
    try {
      await withMail(`smtp://${asUrl(login)}@localhost:${server.port}`, async ({ process, invite }) => {
        await expectLinkShown(await invite('stripped@shop.example'));
        expect(await lineOf(process, 'a mail was not sent')).toMatchObject({ err: { code: 'ETLS' } });
        expect(server.logins).toEqual([]);
        expect(server.mails).toEqual([]);
      });
    } finally {
      await server.close();
    }
  });

  test.each([
    ['over TLS from the first byte', 'smtps', { secure: true }],
    ['after STARTTLS', 'smtp', { secure: false }],
  ])('when the certificate is not trusted, %s, and the login is not sent', async (_name, scheme, options) => {
    const server = await startMailServer(options);
    try {
      const url = `${scheme}://${asUrl(login)}@localhost:${server.port}`;
      await withMail(
        url,
        async ({ process, invite }) => {
          await expectLinkShown(await invite(`untrusted-${scheme}@shop.example`));
          await lineOf(process, 'a mail was not sent');
          expect(server.logins).toEqual([]);
        },
        [],
      );
    } finally {
      await server.close();
    }
  });

  test('when nothing listens', async () => {
    await withMail(`smtp://localhost:${await closedPort()}`, async ({ process, invite }) => {
      await expectLinkShown(await invite('nobody-there@shop.example'));
      await lineOf(process, 'a mail was not sent');
    });
  });

  test('when the server accepts no mail for that address', async () => {
    const server = await startMailServer({
      secure: true,
      onRcptTo: ({ address }, _session, done) => done(new Error(`There is no ${address} here`)),
    });
    try {
      await withMail(`smtps://${asUrl(login)}@localhost:${server.port}`, async ({ process, invite }) => {
        await expectLinkShown(await invite('nosuch@shop.example'));
        const { err } = await lineOf(process, 'a mail was not sent');
        expect(err).toMatchObject({
          code: 'EENVELOPE',
          message: expect.stringContaining('There is no … here'),
        });
        expect(JSON.stringify(process.log)).not.toContain('nosuch@');
      });
    } finally {
      await server.close();
    }
  });

  test('when the server never answers, after the time that a user waits for a page', async () => {
    const silent = createServer();
    const sockets = new Set<{ destroy: () => void }>();
    silent.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)));
    await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
    try {
      const { port } = silent.address() as AddressInfo;
      await withMail(`smtp://localhost:${port}`, async ({ invite }) => {
        await expectLinkShown(await invite('silent@shop.example'));
      });
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((closed) => silent.close(closed));
    }
  });
});

test('a request for a new password gets the same answer when its mail fails, and the log has the failure', async () => {
  const user = await desk.users.member(merchant.id, MemberRole.VIEWER);
  await withMail(`smtp://localhost:${await closedPort()}`, async ({ owner, process }) => {
    const answer = await owner.post('/reset', { email: user.email });
    const line = await lineOf(process, 'a mail was not sent');

    expect(answer.body).toContain('If this address has an account');
    expect(line['request_id']).toBe(answer.headers.get('x-request-id'));
    expect(JSON.stringify(process.log)).not.toMatch(/\/reset\/[\w-]{43}/);
  });
});

test('a mail to a server whose reply never ends is abandoned, and the next mail is sent', async () => {
  const sockets = new Set<Socket>();
  let isStalling = true;
  // Each line of a reply with a hyphen says that another line follows.
  const server = createServer((socket) => {
    const lines = isStalling ? '250-wait\r\n' : '';
    const drip = setInterval(() => void socket.write(lines), 50);
    sockets.add(socket.on('error', () => undefined).on('close', () => clearInterval(drip)));
    socket.write('220 mail.example\r\n');
    socket.on('data', (bytes) => {
      const text = bytes.toString();
      if (text.startsWith('DATA')) socket.write('354 go on\r\n');
      else if (!isStalling || text.startsWith('EHLO')) socket.write('250 ok\r\n');
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const { logger, log } = keptLog({ level: 'info' });
  const mailer = createMailer(`smtp://127.0.0.1:${port}`, 'gatehouse@pay.example', logger, 5_000);
  try {
    const mail = { to: 'abebe@shop.example', subject: 'Invitation', text: 'Hello', requestId: 'r-1' };
    // As many as there are connections.
    const stalled = await Promise.all([mailer.send(mail), mailer.send(mail)]);
    isStalling = false;
    const next = await mailer.send({ ...mail, requestId: 'r-2' });
    await mailer.close();

    expect({ stalled, next }).toEqual({ stalled: [false, false], next: true });
    expect(log).toMatchObject([
      { request_id: 'r-1', msg: 'a mail was not sent' },
      { request_id: 'r-1', msg: 'a mail was not sent' },
      { request_id: 'r-2', msg: 'mail sent' },
    ]);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  }
});
