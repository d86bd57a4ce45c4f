import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createClient } from '@connectrpc/connect';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterEach, expect, test } from '@jest/globals';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { createGrpcTransport } from '../../../src/platform/rpc/grpc-transport.ts';
import { waitUntil } from '../../support/wait-until.ts';

// The name core.example stands for the servers that a name server of the test lists, as a name in Kubernetes does.

const stops: (() => void)[] = [];
afterEach(() =>
  stops
    .splice(0)
    .toReversed()
    .forEach((stop) => stop()),
);

/** Lets grpc-js ask the name server of an address, as its environment variable of this name does at the start of a process. */
function askNameServers(): void {
  const require = createRequire(import.meta.url);
  const environment = require('@grpc/grpc-js/build/src/environment') as Record<string, unknown>;
  environment['GRPC_NODE_USE_ALTERNATIVE_RESOLVER'] = true;
  stops.push(() => void (environment['GRPC_NODE_USE_ALTERNATIVE_RESOLVER'] = false));
}

/** A name server that answers each question about A with `addresses`, and counts them. */
async function startNameServer(addresses: readonly string[]) {
  askNameServers();
  const counted = { port: 0, questions: 0 };
  const socket = createSocket('udp4', (question, peer) => {
    const end = question.indexOf(0, 12) + 5;
    const isA = question[end - 3] === 1;
    if (isA) counted.questions += 1;
    const records = (isA ? addresses : []).map((address) => [
      ...[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4],
      ...address.split('.').map(Number),
    ]);
    const head = Buffer.from(question.subarray(0, end));
    head.writeUInt16BE(0x8180, 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt16BE(0, 10);
    socket.send(Buffer.concat([head, Buffer.from(records.flat())]), peer.port, peer.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  stops.push(() => socket.close());
  counted.port = socket.address().port;
  return counted;
}

/** A server that answers health checks and counts them. Its streams stay open. */
async function startServer(host: string, port: number) {
  const server = new Server();
  const counted = { port: 0, calls: 0, endStreams: (): void => undefined };
  const asIs = (bytes: Buffer): Buffer => bytes;
  const bytes = {
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  const serving = Buffer.from([8, 1]);
  server.addService(
    {
      check: { path: '/grpc.health.v1.Health/Check', requestStream: false, responseStream: false, ...bytes },
      watch: { path: '/grpc.health.v1.Health/Watch', requestStream: false, responseStream: true, ...bytes },
    },
    {
      check: (_call: unknown, done: (error: null, answer: Buffer) => void) => {
        counted.calls += 1;
        done(null, serving);
      },
      watch: (call: { readonly write: (message: Buffer) => void; readonly end: () => void }) => {
        call.write(serving);
        counted.endStreams = () => {
          call.write(serving);
          call.end();
        };
      },
    },
  );
  counted.port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  stops.push(() => server.forceShutdown());
  return counted;
}

/** A client of core.example, whose only address is 127.0.0.1 at first. The name is resolved again all the time. */
async function openNamedServers() {
  const first = await startServer('127.0.0.1', 0);
  const addresses = ['127.0.0.1'];
  const nameServer = await startNameServer(addresses);
  const transport = createGrpcTransport({
    addresses: [`dns://127.0.0.1:${nameServer.port}/core.example:${first.port}`],
    token: '',
    notRepeatable: [],
    renewAfterMs: 50,
  });
  stops.push(transport.close);
  return { first, addresses, nameServer, health: createClient(Health, transport) };
}

test('a server that is added behind a name gets calls, and running streams continue', async () => {
  const { first, addresses, health } = await openNamedServers();
  const stream = health.watch({})[Symbol.asyncIterator]();
  await stream.next();

  const added = await startServer('127.0.0.2', first.port);
  addresses.push('127.0.0.2');
  await waitUntil('the added server answers a fifth of the calls', async () => {
    await health.check({});
    return added.calls > 10 && added.calls * 4 > first.calls;
  });

  first.endStreams();
  expect(await stream.next()).toMatchObject({ done: false });
  expect(await stream.next()).toMatchObject({ done: true });
});

test('a name that is not known for a while keeps the connections that it had', async () => {
  const { addresses, nameServer, health } = await openNamedServers();
  await health.check({});

  addresses.pop();
  const before = nameServer.questions;
  await waitUntil('the name was resolved three times in vain', async () => {
    await health.check({});
    return nameServer.questions > before + 3;
  });
});
