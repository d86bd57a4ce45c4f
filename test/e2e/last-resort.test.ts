import { createServer } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Health } from '../../src/gen/health/v1/health_pb.js';
import { createGrpcTransport } from '../../src/contract/grpc-transport.ts';
import { startProcess } from '../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { listenLocally } from '../support/listen-locally.ts';
import { waitUntil } from '../support/wait-until.ts';

const file = 'test/e2e/broken-processes/breaks-in-many-ways.ts';
let broken: GatehouseProcess | undefined;
afterEach(async () => {
  await broken?.stop();
  broken = undefined;
});

const fatal = ({ log }: GatehouseProcess) => log.filter(({ level }) => level === 'fatal');

test('an error in one request is answered with 500, or INTERNAL over RPC, and the process continues', async () => {
  const running = await startProcess(file, {});
  broken = running;
  const get = async (path: string) => {
    const response = await fetch(`${String(running.ready['http'])}${path}`);
    return { path, status: response.status, body: await response.text() };
  };
  for (const path of ['/handler', '/rejection', '/hook', '/error-handler']) {
    expect(await get(path)).toMatchObject({ path, status: 500 });
  }
  expect(await get('/ids')).toMatchObject({ status: 200 });
  expect(await get('/healthz')).toMatchObject({
    status: 500,
    body: '{"code":500,"message":"Internal server error"}',
  });
  const escaped = 'unexpected error while handling a request';
  const line = await waitUntil('it is logged', () => running.log.find(({ msg }) => msg === escaped));
  expect(line).toMatchObject({ level: 'error', err: { message: 'broken before there is a request' } });

  const grpc = createGrpcTransport({ addresses: [String(running.ready['grpc'])], token: 'none' });
  const connect = createConnectTransport({
    baseUrl: `http://${String(running.ready['connect'])}`,
    httpVersion: '1.1',
  });
  const codeOf = async (call: () => Promise<unknown>): Promise<Code | undefined> => {
    try {
      await call();
      return undefined;
    } catch (error) {
      return ConnectError.from(error).code;
    }
  };
  for (const transport of [grpc, connect] as readonly Transport[]) {
    const health = createClient(Health, transport);
    for (const service of ['throw', 'message']) {
      const code = await codeOf(() => health.check({ service }));
      expect([Code.Internal, Code.Unknown]).toContain(code);
    }
    const stream = await codeOf(async () => {
      await health.watch({})[Symbol.asyncIterator]().next();
    });
    expect([Code.Internal, Code.Unknown]).toContain(stream);
    expect(await health.check({})).toMatchObject({ status: 1 });
  }
  grpc.close();

  expect(JSON.parse((await get('/healthz')).body)).toEqual({ pid: running.pid });
  expect(fatal(running)).toEqual([]);
});

test.each([
  ['/later/exception', 'uncaughtException', 'broken later'],
  ['/later/rejection', 'unhandledRejection', 'broken later'],
  ['/later/nothing', 'unhandledRejection', 'undefined was thrown'],
])(
  'an error that nothing handles (%s) is logged in one fatal line, and the exit code is 1',
  async (path, event, message) => {
    const running = await startProcess(file, {});
    broken = running;

    await fetch(`${String(running.ready['http'])}${path}`).catch(() => undefined);

    await waitUntil('it says why', () => fatal(running).length > 0);
    // The process exits by itself. A signal would give the exit code 0, so the test only waits.
    expect(await running.exited).toBe(1);
    expect(fatal(running)).toEqual([
      expect.objectContaining({
        msg: 'unhandled error: the process exits',
        event,
        err: expect.objectContaining({ message }),
      }),
    ]);
  },
);

test('a crash within Node ends the process at once, so that its supervisor restarts it', async () => {
  const running = await startProcess(file, {});
  broken = running;

  await fetch(`${String(running.ready['http'])}/later/crash`).catch(() => undefined);

  // Null: the kernel ended it with a signal.
  expect(await running.exited).toBeNull();
  expect(running.log.filter(({ msg }) => msg === 'stopping')).toEqual([]);
});

test('an error during the start of a process is logged in one fatal line, and the exit code is 1', async () => {
  await expect(startProcess(file, { BREAK: 'while-starting' })).rejects.toThrow(
    /ended with 1:\n\{"level":"fatal".*"broken while starting".*\}$/,
  );
});

test.each(['GATEHOUSE_CORE_GRPC_PORT', 'GATEHOUSE_CORE_CONNECT_PORT', 'GATEHOUSE_CHECKOUT_PORT'])(
  'a port in use ends the start with a line that names its setting: %s',
  async (setting) => {
    const { origin, close } = await listenLocally(createServer());
    const { port } = new URL(origin);
    await expect(startProcess(file, { [setting]: port })).rejects.toThrow(
      `"message":"port ${port} is in use; stop the program that uses it, or set ${setting} to another port`,
    );
    await close();
  },
);

// The first listens over gRPC, the second over HTTP.
test.each(['GATEHOUSE_HOST', 'GATEHOUSE_METRICS_HOST'])(
  'an address that this machine does not have ends the start with a line that names its setting: %s',
  async (setting) => {
    // Reserved for documentation (RFC 5737).
    await expect(startProcess(file, { [setting]: '192.0.2.1' })).rejects.toThrow(
      `"message":"this machine has no address 192.0.2.1; set ${setting} to one of its addresses, which 'ip -brief address' lists`,
    );
  },
);
