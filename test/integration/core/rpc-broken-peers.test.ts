import { readdirSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { waitUntil } from '../../support/wait-until.ts';
import { plainGrpcClient } from './rpc-clients.ts';
import { sharedStack } from '../../support/shared-stack.ts';

const silent: Peer[] = [];

const stack = sharedStack({ ownProcesses: true, facades: 0 });
beforeAll(async () => {
  // The servers close them after their own time limits. The other tests run meanwhile.
  for (const port of bothPorts()) {
    silent.push(await peer(port, ''));
    silent.push(await peer(port, 'PRI * HTTP/2.0\r\n\r\nSM'));
  }
  silent.push(await peer(connectPort(), 'PRI * HT'));
  silent.push(
    await peer(connectPort(), 'POST /gatehouse.v1.OrderService/GetOrder HTTP/1.1\r\nhost: a\r\nx-begun'),
  );
});

afterAll(() => {
  for (const { socket } of silent) socket.destroy();
});

const portOf = (address: unknown): number => Number(String(address).split(':').at(-1));
const grpcPort = (): number => portOf(stack.addresses[0]);
const connectPort = (): number => portOf(stack.cores[0]?.ready['connect']);
const bothPorts = (): number[] => [grpcPort(), connectPort()];

interface Peer {
  readonly socket: Socket;
  readonly received: () => string;
  readonly isClosed: () => boolean;
}

async function peer(port: number, bytes: string | Buffer): Promise<Peer> {
  const socket = connectTcp({ port, host: '127.0.0.1' });
  let received = '';
  let closed = false;
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  socket.on('close', () => (closed = true));
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  socket.write(bytes);
  return { socket, received: () => received, isClosed: () => closed };
}

async function expectCoreToServe(): Promise<void> {
  const grpc = plainGrpcClient(stack.addresses[0]!);
  const connect = createClient(
    Health,
    createConnectTransport({ baseUrl: stack.connectUrl, httpVersion: '1.1', nodeOptions: { agent: false } }),
  );
  try {
    const { response } = await grpc.call('grpc.health.v1.Health', 'Check', {});
    expect(response).toEqual({ status: 'SERVING' });
    expect(await connect.check({})).toMatchObject({ status: 1 });
  } finally {
    grpc.close();
  }
}

/** Connections between core and its callers. Linux lists the sockets of a process as files. */
function openSockets(): number {
  const pid = stack.cores[0]!.pid;
  return readdirSync(`/proc/${pid}/fd`).length;
}

const path = '/grpc.health.v1.Health/Check';
const http1 = (headers: string, version = '1.1', target = path): string =>
  `POST ${target} HTTP/${version}\r\n${headers}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`;
const http2Preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const emptySettings = '\x00\x00\x00\x04\x00\x00\x00\x00\x00';
/** A frame of type HEADERS whose length exceeds the limit of frames. */
const hugeFrame = '\xff\xff\xff\x01\x04\x00\x00\x00\x01';

const nonsense: [name: string, bytes: string][] = [
  ['random bytes', String.fromCharCode(...Array.from({ length: 2000 }, (_, i) => (i * 7919 + 13) % 256))],
  ['a line that is not a request', 'hello\r\n\r\n'],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + 'a'.repeat(500)],
  ['a preface that is followed by something else', 'PRI * HTTP/2.0\r\n\r\nGET / HTTP/1.1\r\n\r\n'],
  ['HTTP/2 with a frame that is too large', http2Preface + emptySettings + hugeFrame],
  ['HTTP/2 with bytes after the settings', http2Preface + emptySettings + 'x'.repeat(5000)],
  ['HTTP/1.1 without a host', http1('')],
  ['HTTP/1.0 without a host', http1('', '1.0')],
  ['an invalid host', http1('host: [\r\n')],
  ['a host with a space', http1('host: a b\r\n')],
  ['a target that is a URL', http1('host: a\r\n', '1.1', `http://[${path}`)],
  ['two slashes at the start of the target', http1('host: a\r\n', '1.1', `/${path}`)],
  ['headers larger than HTTP/1.1 servers take', http1(`host: a\r\nx-large: ${'x'.repeat(200_000)}\r\n`)],
  ['an upgrade to cleartext HTTP/2', http1('host: a\r\nconnection: Upgrade\r\nupgrade: h2c\r\n')],
  ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n'],
  ['a body shorter than its length', `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 50\r\n\r\n{}`],
  [
    'a chunk without a length',
    `POST ${path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}`,
  ],
];

describe.each([
  ['gRPC', grpcPort],
  ['Connect', connectPort],
])('on the %s port', (_name, port) => {
  test.each(nonsense)('the process continues to serve after %s', async (_what, bytes) => {
    const broken = await peer(port(), Buffer.from(bytes, 'latin1'));
    broken.socket.end();
    await waitUntil('the connection is closed', broken.isClosed);
    await expectCoreToServe();
  });

  test('connections reset in the middle of a call leave no socket behind', async () => {
    await expectCoreToServe();
    const before = openSockets();
    const peers = await Promise.all(
      Array.from({ length: 50 }, () =>
        peer(port(), Buffer.from(http2Preface + emptySettings + '\x00\x00\x10\x01', 'latin1')),
      ),
    );
    await waitUntil('the server has greeted each', () => peers.every(({ received }) => received() !== ''));
    for (const { socket } of peers) socket.resetAndDestroy();
    await waitUntil('their sockets are closed', () => openSockets() <= before + 5);
    await expectCoreToServe();
  });
});

test('HTTP/1.1 peers reset while they wait for an answer leave no socket behind', async () => {
  const before = openSockets();
  const watch =
    'POST /grpc.health.v1.Health/Watch HTTP/1.1\r\nhost: a\r\ncontent-type: application/connect+json\r\n' +
    'content-length: 7\r\n\r\n\x00\x00\x00\x00\x02{}';
  const peers = await Promise.all(
    Array.from({ length: 50 }, () => peer(connectPort(), Buffer.from(watch, 'latin1'))),
  );
  await waitUntil('each has its first answer', () =>
    peers.every(({ received }) => received().includes('SERVING')),
  );
  for (const { socket } of peers) socket.resetAndDestroy();
  await waitUntil('their sockets are closed', () => openSockets() <= before + 5);
  await expectCoreToServe();
});

test('a peer that stops sending in the middle is disconnected after a while, on both ports', async () => {
  await waitUntil('all silent peers are closed', () => silent.every(({ isClosed }) => isClosed()));
  await expectCoreToServe();
});

test('broken peers cause neither an error in the log nor a warning of Node', () => {
  const loud = stack.cores[0]!.log.filter(
    ({ level, msg }) => level === 'error' || level === 'fatal' || /Warning|Unhandled/.test(String(msg)),
  );
  expect(loud).toEqual([]);
});
