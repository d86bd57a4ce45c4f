import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { Http2SessionManager, createConnectTransport } from '@connectrpc/connect-node';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { registration } from '../../support/order-requests.ts';
import { startProcess } from '../../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { describeFailure } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import type { GrpcTransport } from '../../../src/platform/rpc/grpc-transport.ts';
import { holdRegistrations } from './hold-registrations.ts';
import { sharedStack, sharedClosers } from '../../support/shared-stack.ts';

let merchantId: string;
let core: GatehouseProcess;
let orderCount = 0;

const stack = sharedStack({ facades: 0 });
beforeAll(async () => {
  merchantId = (await stack.createMerchant()).id;
});

afterEach(async () => {
  await core.stop();
});

const cleanUps = sharedClosers();

const order = () => registration({ merchantId, orderNumber: `S-${++orderCount}` });
const headers = () => ({ headers: { authorization: `Bearer ${stack.tokens.operator}` } });

function grpcClient(): { transport: GrpcTransport; orders: Client<typeof OrderService> } {
  const transport = createGrpcTransport({
    addresses: [String(core.ready['grpc'])],
    token: stack.tokens.operator,
  });
  cleanUps.push(() => transport.close());
  return { transport, orders: createClient(OrderService, transport) };
}

function connectClient(httpVersion: '1.1' | '2'): Client<typeof OrderService> {
  const baseUrl = `http://${String(core.ready['connect'])}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  cleanUps.push(() => sessionManager.abort());
  const transport =
    httpVersion === '2'
      ? createConnectTransport({ baseUrl, httpVersion, sessionManager })
      : createConnectTransport({ baseUrl, httpVersion });
  return createClient(OrderService, transport);
}

const portOf = (address: unknown): number => Number(String(address).split(':')[1]);

const isRefused = (address: unknown): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connectTcp({ port: portOf(address), host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', () => resolve(true));
  });

/** Asks core to stop, and waits until it accepts no more connections. */
async function beginStop(): Promise<{ exitCode: Promise<number | null> }> {
  const exitCode = core.stop();
  await waitUntil('the core refuses connections', async () =>
    (await Promise.all([isRefused(core.ready['grpc']), isRefused(core.ready['connect'])])).every(Boolean),
  );
  return { exitCode };
}

/** Every part has stopped within its own time limit, and all of them within that of the process. */
function expectStopInTime(): void {
  const messages = core.log.map(({ msg }) => msg);
  expect(messages).not.toContainEqual(expect.stringContaining('did not stop in time'));
  expect(messages.at(-1)).toBe('stopped');
}

test('running calls end, new ones are refused, idle connections are closed, and the process exits with 0', async () => {
  core = await startProcess('core', stack.coreSettings);
  const held = await holdRegistrations(stack.databaseUrl);
  const idle = connectTcp({ port: portOf(core.ready['connect']), host: '127.0.0.1' });
  const idleClosed = new Promise<void>((resolve) => idle.once('close', () => resolve()));
  await answerOf(idle);
  const { orders } = grpcClient();
  const connectOrders = [connectClient('1.1'), connectClient('2')];
  const running: Promise<unknown>[] = [];
  for (const register of [
    () => orders.registerOrder(order()),
    ...connectOrders.map((each) => () => each.registerOrder(order(), headers())),
  ]) {
    running.push(register());
    await held.untilWaiting(running.length);
  }
  const settled = Promise.all(running.map((call) => call.catch((error: unknown) => error)));
  const { exitCode } = await beginStop();
  await idleClosed;
  const refused = await Promise.allSettled([
    orders.registerOrder(order()),
    ...connectOrders.map((each) => each.registerOrder(order(), headers())),
  ]);
  await held.release();
  expect(await settled).toEqual(running.map(() => expect.objectContaining({ repeated: false })));
  expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(await exitCode).toBe(0);
  expectStopInTime();
});

/** Makes one call over HTTP/1.1 and leaves the connection open, as browsers and proxies do. */
function answerOf(socket: Socket): Promise<string> {
  socket.write(
    'POST /grpc.health.v1.Health/Check HTTP/1.1\r\nhost: core\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
  );
  return new Promise((resolve) => socket.once('data', (chunk) => resolve(chunk.toString())));
}

test('watchers receive SERVER_DRAINING over every protocol, and silent connections make no part late', async () => {
  core = await stack.startCore();
  const silent = [core.ready['grpc'], core.ready['connect']].map((address) =>
    connectTcp({ port: portOf(address), host: '127.0.0.1' }).on('error', () => undefined),
  );
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  const watchers = [grpcClient().orders, connectClient('1.1'), connectClient('2')];
  let begun = 0;
  const ends = watchers.map(async (orders) => {
    for await (const { cursor } of orders.watchOrderEvents({ onlyNew: true }, headers())) {
      if (cursor !== '') begun += 1;
    }
  });
  const errors = Promise.all(ends.map((end) => end.catch((thrown: unknown) => thrown)));
  await waitUntil('all watch', () => begun >= watchers.length);
  await core.stop();
  expectStopInTime();
  for (const socket of silent) socket.destroy();
  expect((await errors).map((error) => describeFailure(ConnectError.from(error)))).toEqual(
    watchers.map(() => expect.objectContaining({ code: Code[Code.Unavailable], reason: 'SERVER_DRAINING' })),
  );
});

test('a call that does not end is aborted, and the process still exits with code 0', async () => {
  core = await startProcess('core', stack.coreSettings);
  const held = await holdRegistrations(stack.databaseUrl);
  const running = [
    grpcClient().orders.registerOrder(order()),
    connectClient('1.1').registerOrder(order(), headers()),
    connectClient('2').registerOrder(order(), headers()),
  ];
  const settled = Promise.allSettled(running);
  await held.untilWaiting();
  const { exitCode } = await beginStop();
  expect(await exitCode).toBe(0);
  expect(core.log.at(-1)).toMatchObject({ msg: 'stopped' });
  expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await held.release();
});
