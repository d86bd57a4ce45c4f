import { createServer } from 'node:net';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { once } from 'node:events';
import { Code, createClient } from '@connectrpc/connect';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { createGrpcTransport } from '../../../src/platform/rpc/grpc-transport.ts';
import type { GrpcTransportOptions } from '../../../src/platform/rpc/grpc-transport.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

const cleanUps = closersOfEachTest();

/** An address at which each connection ends at once, and a client of it. */
async function openAbsentServer(options: Partial<GrpcTransportOptions> = {}) {
  const counted = { connections: 0 };
  const listener: TcpServer = createServer((socket) => {
    counted.connections += 1;
    socket.destroy();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  cleanUps.push(() => listener.close());
  const { port } = listener.address() as AddressInfo;
  const transport = createGrpcTransport({
    addresses: [`127.0.0.1:${port}`],
    token: '',
    notRepeatable: [],
    serverWaitMs: 600_000,
    ...options,
  });
  cleanUps.push(transport.close);
  const startServer = async (): Promise<void> => {
    listener.close();
    await once(listener, 'close');
    await startHealthServer(port);
  };
  return { counted, health: createClient(Health, transport), startServer };
}

async function startHealthServer(port: number): Promise<void> {
  const server = new Server();
  const asIs = (bytes: Buffer): Buffer => bytes;
  const bytes = {
    ...{ requestSerialize: asIs, requestDeserialize: asIs },
    ...{ responseSerialize: asIs, responseDeserialize: asIs },
  };
  const path = '/grpc.health.v1.Health/Check';
  server.addService(
    { check: { path, requestStream: false, responseStream: false, ...bytes } },
    {
      check: (_call: unknown, done: (error: null, answer: Buffer) => void) => done(null, Buffer.from([8, 1])),
    },
  );
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    ),
  );
  cleanUps.push(() => server.forceShutdown());
}

test('a call waits for a server that is unavailable at first', async () => {
  const { counted, health, startServer } = await openAbsentServer();
  const answer = health.check({}, { timeoutMs: 600_000 });

  // By then the retries of grpc-js are over. They take 0.65 s at most, and so many connections at least three quarters of a second.
  await waitUntil('it has tried to connect five times', () => counted.connections >= 5);
  await startServer();

  expect(await answer).toMatchObject({ status: 1 });
});

test.each([
  ['no server starts before its deadline', {}, { timeoutMs: 2_000 }],
  ['no server starts while it waits', { serverWaitMs: 1 }, { timeoutMs: 600_000 }],
  ['it must not be repeated', { notRepeatable: [Health.method.check] }, { timeoutMs: 600_000 }],
] as const)('a call fails as UNAVAILABLE if %s', async (_when, options, callOptions) => {
  const { health } = await openAbsentServer(options);
  await expect(health.check({}, callOptions)).rejects.toMatchObject({ code: Code.Unavailable });
});

test('a call that waits for a server fails when its client is closed', async () => {
  const { counted, health } = await openAbsentServer();
  const failing = expect(health.check({}, { timeoutMs: 600_000 })).rejects.toMatchObject({
    code: Code.Unavailable,
  });
  await waitUntil('it has tried to connect five times', () => counted.connections >= 5);
  cleanUps.pop()?.();
  await failing;
});
