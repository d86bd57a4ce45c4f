import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { TestAuthority } from './certificates.ts';
import { inDays, openAuthority } from './certificates.ts';
import { sendTo, sendingDesk } from './outgoing.ts';
import { answer, raw, startTcpServer } from './receivers.ts';
import type { ReceiverTls } from './receivers.ts';

const { openSender, openReceiver, closeLater, close } = sendingDesk();
afterEach(close);

let authority: TestAuthority;
beforeAll(() => {
  authority = openAuthority();
});
afterAll(() => authority.close());

const name = 'DNS:shop.example';

/** A receiver with this certificate, and a sender that trusts the authority. */
async function sendOver(tls: ReceiverTls, host = 'shop.example', behaviour = answer(204)) {
  const receiver = await openReceiver(behaviour, { tls });
  const sender = openSender({ ca: authority.cert, resolve: async () => ['127.0.0.1'] });
  const report = await sendTo(sender, `https://${host}:${receiver.port}/hook`);
  return { receiver, report };
}

test.each([
  ['for its name', name, 'shop.example'],
  ['for its name, which the URL writes with its final dot', name, 'shop.example.'],
  ['for its IP address', 'IP:127.0.0.1', '127.0.0.1'],
])('a receiver with a valid certificate %s gets the webhook', async (_what, names, host) => {
  const { report } = await sendOver(authority.issue({ names }), host);

  expect(report).toMatchObject({ result: 'DELIVERED', statusCode: 204, remoteAddress: '127.0.0.1' });
});

test.each([
  [
    'an expired one',
    () => authority.issue({ names: name, validFrom: inDays(-2), validTo: inDays(-1) }),
    'the certificate of shop.example has expired: renew it',
  ],
  [
    'one that is not valid yet',
    () => authority.issue({ names: name, validFrom: inDays(1), validTo: inDays(2) }),
    'the certificate of shop.example is not valid yet',
  ],
  [
    "another host's",
    () => authority.issue({ names: 'DNS:other.example' }),
    'the certificate is not for shop.example: it must name the host of the URL',
  ],
  [
    'a self-signed one',
    () => authority.selfSigned(name),
    'the certificate of shop.example is self-signed: get one from a public certificate authority',
  ],
])('nothing is sent to a receiver with this certificate: %s', async (_name, makeCertificate, detail) => {
  const { receiver, report } = await sendOver(makeCertificate());

  expect(report).toMatchObject({ result: 'TLS_FAILED', statusCode: 0, detail, remoteAddress: '' });
  expect(receiver.webhooks).toEqual([]);
});

test('a certificate of an unknown authority is refused', async () => {
  const receiver = await openReceiver(answer(204), { tls: authority.issue({ names: name }) });
  const sender = openSender({ resolve: async () => ['127.0.0.1'] });

  const report = await sendTo(sender, `https://shop.example:${receiver.port}/hook`);

  expect(report.result).toBe('TLS_FAILED');
  expect(report.detail).toContain('was not issued by a publicly trusted authority');
  expect(receiver.webhooks).toEqual([]);
});

describe('a receiver cannot make handshakes expensive', () => {
  test('by a key exchange whose prime it chooses', async () => {
    const dhe = { ciphers: 'DHE-RSA-AES128-GCM-SHA256', dhparam: 'auto', maxVersion: 'TLSv1.2' } as const;
    const { receiver, report } = await sendOver({ ...authority.issue({ names: name, key: 'rsa' }), ...dhe });

    expect(report).toMatchObject({ result: 'TLS_FAILED', statusCode: 0 });
    expect(report.detail).toContain('offers no cipher of TLS that Gatehouse accepts');
    expect(receiver.webhooks).toEqual([]);
  });

  test('by a new handshake on the same connection', async () => {
    const asked = Promise.withResolvers<Error | null>();
    await sendOver(
      { ...authority.issue({ names: name }), maxVersion: 'TLSv1.2' },
      'shop.example',
      ({ socket }) => {
        socket.once('error', asked.resolve);
        (socket as TLSSocket).renegotiate({}, asked.resolve);
      },
    );

    expect(await asked.promise).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
  });
});

test('a receiver with HTTP/2 only is reported', async () => {
  const { report } = await sendOver({ ...authority.issue({ names: name }), ALPNProtocols: ['h2'] });

  expect(report).toMatchObject({ result: 'TLS_FAILED', statusCode: 0 });
  expect(report.detail).toContain('accepts no HTTP/1.1 over TLS');
});

test('a receiver with plain HTTP on an https URL is reported', async () => {
  const receiver = await openReceiver();

  const report = await sendTo(openSender(), receiver.origin.replace('http', 'https'));

  expect(report).toMatchObject({ result: 'TLS_FAILED', statusCode: 0 });
  expect(report.detail).toBe(
    `127.0.0.1:${receiver.port} does not speak TLS: check the scheme and port of the URL`,
  );
});

test('a server that disconnects during the TLS handshake is reported', async () => {
  const server = await startTcpServer((socket) => socket.destroy());
  closeLater(server.close);

  const report = await sendTo(openSender(), `https://127.0.0.1:${server.port}/hook`);

  expect(report).toMatchObject({ result: 'TLS_FAILED', statusCode: 0 });
  expect(report.detail).toContain('closed the connection during the TLS handshake');
});

test('a receiver with TLS on an http URL is reported as CONNECTION_FAILED', async () => {
  const receiver = await openReceiver(answer(204), { tls: authority.selfSigned('IP:127.0.0.1') });

  const report = await sendTo(openSender(), receiver.origin.replace('https', 'http'));

  expect(report).toMatchObject({ result: 'CONNECTION_FAILED', statusCode: 0 });
  expect(receiver.webhooks).toEqual([]);
});

test('a TLS alert on an http URL is explained', async () => {
  const receiver = await openReceiver(raw(Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46])));

  const report = await sendTo(openSender(), `${receiver.origin}/hook`);

  expect(report.result).toBe('UNREADABLE');
  expect(report.detail).toContain('is not HTTP/1.1: the server speaks TLS, so use https in the URL');
});
