import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { describe, expect, test } from '@jest/globals';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { waitUntil } from '../../support/wait-until.ts';
import { openGrpcCall, plainGrpcClient } from './rpc-clients.ts';
import { sharedStack } from '../../support/shared-stack.ts';

const stack = sharedStack({ ownProcesses: true, facades: 0 });

const portOf = (address: unknown): number => Number(String(address).split(':').at(-1));
const grpcPort = (): number => portOf(stack.addresses[0]);
const connectPort = (): number => portOf(stack.cores[0]?.ready['connect']);

const ports: readonly [name: string, port: () => number][] = [
  ['gRPC', grpcPort],
  ['Connect', connectPort],
];

interface Peer {
  readonly socket: Socket;
  readonly received: () => string;
}

async function peer(port: number, bytes: Buffer): Promise<Peer> {
  const socket = connectTcp({ port, host: '127.0.0.1' });
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  socket.write(bytes);
  return { socket, received: () => received };
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

const beginning = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x10\x01';
const watch =
  'POST /grpc.health.v1.Health/Watch HTTP/1.1\r\nhost: a\r\ncontent-type: application/connect+json\r\n' +
  'content-length: 7\r\n\r\n\x00\x00\x00\x00\x02{}';

test.each([
  ['a call over gRPC', grpcPort, beginning, /./],
  ['a call over HTTP/2 to the Connect port', connectPort, beginning, /./],
  ['a stream over HTTP/1.1', connectPort, watch, /SERVING/],
])('connections reset in the middle of %s leave no socket behind', async (_what, port, bytes, answer) => {
  await expectCoreToServe();
  const before = openSockets();
  const peers = await Promise.all(
    Array.from({ length: 50 }, () => peer(port(), Buffer.from(bytes, 'latin1'))),
  );
  await waitUntil('the server has answered each', () =>
    peers.every(({ received }) => answer.test(received())),
  );
  for (const { socket } of peers) socket.resetAndDestroy();
  await waitUntil('their sockets are closed', () => openSockets() <= before + 5);
  await expectCoreToServe();
});

test.each(ports)(
  'HTTP/2 sessions that break the protocol on the %s port are closed, and write no line to the log',
  async (_what, port) => {
    const before = stack.cores[0]!.log.length;
    // A continuation of no headers, of a size that no peer may send.
    const broken = `${beginning.slice(0, -4)}\xff\xff\xff\x09\x00\x00\x00\x00\x01`;
    const peers = await Promise.all(
      Array.from({ length: 50 }, () => peer(port(), Buffer.from(broken, 'latin1'))),
    );

    await waitUntil('the server has closed each', () => peers.every(({ socket }) => socket.destroyed));

    await expectCoreToServe();
    const lines = stack.cores[0]!.log.slice(before).filter(({ msg }) => msg !== 'rpc');
    expect(lines).toEqual([]);
  },
);

const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** The frame that opens a call, with its headers as literals (RFC 7541, section 6.2.2). */
function openingFrame(stream: number, own: Readonly<Record<string, string>>): Buffer {
  const headers = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': '/grpc.health.v1.Health/Check',
    ':authority': 'core',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...own,
  };
  const literals = Object.entries(headers).flatMap(([name, value]) => [
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
  return frame(1, 4, stream, Buffer.concat(literals));
}

const greeting = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(4, 0, 0, Buffer.alloc(0)),
]);

/** Opens and resets 150 calls, and then makes one. Over gRPC's framing, its answer ends in the message `status: SERVING`. */
const resetCalls = (own: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat([
    greeting,
    ...Array.from({ length: 150 }, (_each, index) => [
      openingFrame(2 * index + 1, own),
      frame(3, 0, 2 * index + 1, Buffer.from([0, 0, 0, 8])),
    ]).flat(),
    openingFrame(301, own),
    frame(0, 1, 301, Buffer.alloc(5)),
  ]);

describe.each(ports)('a peer on the %s port that opens and resets calls', (_name, port) => {
  test('is disconnected without a known token, and its next call is not answered', async () => {
    const { socket, received } = await peer(port(), resetCalls({}));
    await once(socket, 'close');

    expect(received()).not.toContain('\0\0\0\0\x02\x08\x01');
    await expectCoreToServe();
  });

  test('is answered with a known token', async () => {
    const authorization = `Bearer ${stack.tokens.operator}`;
    const { socket, received } = await peer(port(), resetCalls({ authorization }));

    await waitUntil('the last call is answered', () => received().includes('\0\0\0\0\x02\x08\x01'));
    socket.destroy();
  });
});

/** Opens calls with 200 headers, each of one byte: an entry of the table that all peers know (RFC 7541, appendix A). */
const oversizedCalls = (own: Readonly<Record<string, string>>, last: number): Buffer => {
  const call = openingFrame(1, own).subarray(9);
  const headers = Buffer.concat([call, Buffer.alloc(200, 0xbd)]);
  return Buffer.concat(Array.from({ length: last }, (_each, index) => frame(1, 5, 2 * index + 1, headers)));
};

describe.each(ports)('a peer on the %s port whose calls have too many headers', (listener, port) => {
  test('is disconnected without a known token', async () => {
    const { socket } = await peer(port(), Buffer.concat([greeting, oversizedCalls({}, 150)]));
    await waitUntil('the connection is closed', () => socket.destroyed);

    await expectCoreToServe();
    const logged = stack.cores[0]!.log.filter(
      ({ msg, listener: where }) => /had too many headers/.test(String(msg)) && where === listener,
    );
    expect(logged.length).toBeGreaterThan(0);
  });

  test('gets an answer to its next call when they were few', async () => {
    const next = Buffer.concat([openingFrame(101, {}), frame(0, 1, 101, Buffer.alloc(5))]);
    const { socket, received } = await peer(port(), Buffer.concat([greeting, oversizedCalls({}, 50), next]));

    await waitUntil('the last call is answered', () => received().includes('\0\0\0\0\x02\x08\x01'));
    socket.destroy();
  });
});

test.each(ports)(
  'strangers cannot keep many calls open on the %s port, and each gets an answer to one',
  async (_name, port) => {
    const calls = Array.from({ length: 100 }, (_each, index) => openingFrame(2 * index + 1, {}));
    const peers = await Promise.all(
      Array.from({ length: 15 }, () => peer(port(), Buffer.concat([greeting, ...calls]))),
    );
    const refusalsOf = ({ received }: Peer): number =>
      received()
        .split('\0\0\x04\x03\0')
        .filter((rest) => rest.slice(4, 8) === '\0\0\0\x07').length;
    const refusals = (): number => peers.reduce((all, each) => all + refusalsOf(each), 0);
    await waitUntil('the calls above the limit are refused', () => refusals() >= 400);

    await expectCoreToServe();
    for (const { socket } of peers) socket.destroy();
  },
);

test.each(ports)(
  'of 1,100 idle strangers on the %s port, the oldest are disconnected, and a known peer is not',
  async (listener, port) => {
    const authorization = `Bearer ${stack.tokens.operator}`;
    const health = 'grpc.health.v1.Health/Check';
    const { session: known, call } = openGrpcCall(`127.0.0.1:${port()}`, health, { authorization });
    call.end(Buffer.alloc(5));
    await once(call.resume(), 'end');

    const strangers = await Promise.all(Array.from({ length: 1_100 }, () => peer(port(), greeting)));
    // GOAWAY of no stream, with ENHANCE_YOUR_CALM. Peers that answer no ping are closed too, but with another reason.
    const goaway = `\x07${'\0'.repeat(12)}\x0b`;
    const sentAway = ({ received }: Peer): boolean => received().includes(goaway);
    await waitUntil('the oldest are sent away', () => strangers.filter(sentAway).length >= 100);

    expect(known.closed).toBe(false);
    expect(strangers.slice(-500).filter(sentAway)).toEqual([]);
    await expectCoreToServe();
    known.destroy();
    for (const { socket } of strangers) socket.destroy();
    const logged = stack.cores[0]!.log.filter(
      ({ msg, listener: where }) =>
        /more than 1000 connections had no known token/.test(String(msg)) && where === listener,
    );
    expect(logged).toMatchObject([{ level: 'warn', count: 1 }]);
  },
);

test('reset connections cause neither an error in the log nor a warning of Node', () => {
  const loud = stack.cores[0]!.log.filter(
    ({ level, msg }) => level === 'error' || level === 'fatal' || /Warning|Unhandled/.test(String(msg)),
  );
  expect(loud).toEqual([]);
});
