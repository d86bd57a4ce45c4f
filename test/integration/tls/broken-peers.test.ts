import { readFile, rm } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { startRpcServers } from '../../../src/platform/rpc/start-servers.ts';
import type { RpcServers } from '../../../src/platform/rpc/start-servers.ts';
import { openCertificateFiles } from '../../../src/platform/tls/certificate-files.ts';
import { createPrivateAuthority } from '../../support/private-authority.ts';
import type { IssuedFiles, PrivateAuthority } from '../../support/private-authority.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sharedClosers } from '../../support/shared-stack.ts';

// Peers that break TLS, at the listeners of core and `webhooks`.

const { logger, log } = keptLog({ level: 'info' });
const closers = sharedClosers();
let authority: PrivateAuthority;
let foreign: PrivateAuthority;
let own: IssuedFiles;
let stranger: IssuedFiles;
let servers: RpcServers;
let ca: Buffer;

async function startServers(): Promise<RpcServers> {
  const files = openCertificateFiles({ paths: own, logger, now: () => new Date(), everyMs: 3_600_000 });
  closers.push(files.stop);
  return startRpcServers({
    host: '127.0.0.1',
    ports: { grpc: 0, connect: 0 },
    services: [],
    pages: {},
    tokens: [],
    draining: new AbortController().signal,
    tls: { files, asksClients: true, peers: { isRequired: false, trustDomain: 'pay.example', roles: [] } },
    isServing: () => true,
    explain: () => undefined,
    measure: () => undefined,
    newRequestId: () => 'r-1',
    logger,
  });
}

beforeAll(async () => {
  [authority, foreign] = await Promise.all([createPrivateAuthority(), createPrivateAuthority()]);
  closers.push(() => rm(authority.folder, { recursive: true }));
  closers.push(() => rm(foreign.folder, { recursive: true }));
  own = await authority.issue('server', 'DNS:localhost,IP:127.0.0.1');
  stranger = await foreign.issue('stranger', 'URI:spiffe://pay.example/gatehouse/operator');
  ca = await readFile(own.ca);
  servers = await startServers();
  closers.push(() => servers.stop(0));
});

type Listener = 'grpc' | 'connect';
const portOf = (listener: Listener, of = servers): number => Number(of.addresses[listener].split(':').at(-1));

/** Sends bytes, and waits until the server closes the connection. */
async function untilClosed(socket: Socket, bytes: string | Buffer): Promise<void> {
  socket.on('error', () => undefined).resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  socket.end();
  await closed;
}

const tcp = (listener: Listener, of = servers): Socket =>
  connectTcp({ host: '127.0.0.1', port: portOf(listener, of) });

function tls(listener: Listener, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port: portOf(listener), ca, ...options });
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}

async function expectToServe(of = servers): Promise<void> {
  const files = openCertificateFiles({
    paths: { ca: own.ca, own: undefined },
    logger,
    now: () => new Date(),
    everyMs: 3_600_000,
  });
  const grpc = createGrpcTransport({ addresses: [of.addresses.grpc], token: '', tls: files });
  const connect = createConnectTransport({
    baseUrl: `https://${of.addresses.connect}`,
    httpVersion: '1.1',
    nodeOptions: { ca, agent: false },
  });
  try {
    for (const transport of [grpc, connect])
      expect(await createClient(Health, transport).check({})).toMatchObject({ status: 1 });
  } finally {
    grpc.close();
    files.stop();
  }
}

const hello = Buffer.from(
  `160301006b010000670303${'11'.repeat(32)}00000813021303130100ff010000360000000e000c0000096c6f63616c686f7374` +
    '000b000403000102000a000400020017002b0003020304000d0006000404030804',
  'hex',
);
const rawBytes: [name: string, bytes: string | Buffer][] = [
  ['nothing', ''],
  ['HTTP without TLS', 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['HTTP/2 without TLS', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['random bytes', Buffer.from(Array.from({ length: 4000 }, (_, index) => (index * 7919 + 13) % 256))],
  ['the first byte of a greeting', Buffer.from([0x16])],
  ['half a greeting', hello.subarray(0, 40)],
  ['a greeting and then random bytes', Buffer.concat([hello, Buffer.alloc(300, 0x17)])],
  [
    'a greeting that is longer than its length',
    Buffer.concat([hello.subarray(0, 20), Buffer.alloc(4000, 1)]),
  ],
  ['a record that is too long', Buffer.concat([Buffer.from('160301ffff', 'hex'), Buffer.alloc(70_000)])],
  ['SSL 2', Buffer.from('802e0100020015000000100100800200800300800400800500800600400700c0', 'hex')],
  ['an alert', Buffer.from('15030300020228', 'hex')],
  ['a heartbeat that asks for memory', Buffer.from('1803020003014000', 'hex')],
];

describe.each(['grpc', 'connect'] as const)('the %s listener continues to serve after', (listener) => {
  test.each(rawBytes)('%s', async (_name, bytes) => {
    await untilClosed(tcp(listener), bytes);
    await expectToServe();
  });

  test.each<[name: string, options: ConnectionOptions, outcome: RegExp]>([
    ['a version that is too old', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }, /protocol|version|alert/i],
    [
      'a cipher that HTTP/2 forbids',
      { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES128-SHA256' },
      /handshake failure/i,
    ],
    ['a protocol that it does not speak', { ALPNProtocols: ['spdy/3'] }, /no application protocol/i],
  ])('%s, which it refuses', async (_name, options, outcome) => {
    await expect(tls(listener, options)).rejects.toThrow(outcome);
    await expectToServe();
  });

  test.each<[name: string, bytes: string]>([
    ['random bytes', 'x'.repeat(5000)],
    [
      'an HTTP/2 frame that is too large',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x01\x04\x00\x00\x00\x01',
    ],
    ['HTTP/1.1 without a host', 'POST /grpc.health.v1.Health/Check HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}'],
  ])('%s within TLS, whichever protocol was agreed', async (_name, bytes) => {
    for (const ALPNProtocols of [['h2'], ['http/1.1'], []]) {
      const socket = await tls(listener, ALPNProtocols.length === 0 ? {} : { ALPNProtocols }).catch(
        () => undefined,
      );
      if (socket !== undefined) await untilClosed(socket, Buffer.from(bytes, 'latin1'));
    }
    await expectToServe();
  });

  test('a second handshake on a connection, which it refuses', async () => {
    const socket = await tls(listener, { maxVersion: 'TLSv1.2', ALPNProtocols: ['h2'] });
    const isAccepted = await new Promise((resolve) => {
      socket.on('error', () => resolve(false)).once('close', () => resolve(false));
      socket.resume().renegotiate({}, (error) => resolve(error === null));
    });
    socket.destroy();
    expect(isAccepted).toBe(false);
    await expectToServe();
  });

  test('a certificate of another authority that names an operator, and the bytes after it', async () => {
    const [cert, key] = [await readFile(stranger.own.certificate), await readFile(stranger.own.key)];
    const socket = await tls(listener, { cert, key, ALPNProtocols: ['h2'] });
    await untilClosed(socket, 'nonsense');
    await expectToServe();
  });
});

test('the broken peers cause no error in the log', () => {
  expect(log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
});

test('an unfinished handshake is ended after ten seconds, and does not delay the stop of a server', async () => {
  const stopping = await startServers();
  const closedBy: string[] = [];
  const greet = (listener: Listener, of: RpcServers, name: string): Socket => {
    const socket = tcp(listener, of);
    socket.on('error', () => undefined).on('close', () => closedBy.push(name));
    socket.write(hello.subarray(0, 40));
    return socket;
  };
  const silent = (['grpc', 'connect'] as const).flatMap((listener) => [
    greet(listener, servers, `the handshake's limit of ${listener}`),
    greet(listener, stopping, `the stop of ${listener}`),
  ]);
  await waitUntil('all are connected', () => silent.every(({ connecting }) => !connecting));
  await expectToServe(stopping);

  await stopping.stop(1_000);
  await waitUntil('all are closed', () => closedBy.length === silent.length, 60_000);

  expect(closedBy.slice(0, 2).sort()).toEqual(['the stop of connect', 'the stop of grpc']);
});
