import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { Http2SessionManager, createConnectTransport } from '@connectrpc/connect-node';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { registration } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { holdRegistrations } from './hold-registrations.ts';
import { grpcFrame, openGrpcCall, plainGrpcClient, plainOrder } from './rpc-clients.ts';
import type { PlainMessage } from './rpc-clients.ts';
import { sharedStack, shared } from '../../support/shared-stack.ts';

const service = 'gatehouse.v1.OrderService';

let merchantId: string;
let orderCount = 0;
const newOrderNumber = (): string => `L-${++orderCount}`;

// A small heap, so that memory that calls leave behind differs from garbage that is not collected yet.
const stack = sharedStack({
  ownProcesses: true,
  facades: 0,
  settings: { NODE_OPTIONS: '--max-old-space-size=128' },
});
beforeAll(async () => {
  merchantId = (await stack.createMerchant()).id;
});

const grpc = shared(async () => plainGrpcClient(stack.addresses[0]!, stack.tokens.operator));

const plainRegistration = (own: PlainMessage = {}): PlainMessage =>
  plainOrder({ merchant_id: merchantId, order_number: newOrderNumber(), ...own });

const post = (
  method: string,
  body: object | Buffer,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) =>
  fetch(`${stack.connectUrl}/${service}/${method}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${stack.tokens.operator}`,
      ...headers,
    },
    body: Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

const logLineOf = (requestId: string) =>
  waitUntil(`the log has the line of ${requestId}`, () =>
    stack.cores[0]!.log.find(({ request_id }) => request_id === requestId),
  );

async function expectCoreToServe(): Promise<void> {
  const { error } = await grpc.call(service, 'RegisterOrder', plainRegistration());
  expect(error).toBeUndefined();
  expect((await post('RegisterOrder', plainRegistration())).status).toBe(200);
}

describe('while the database is blocked', () => {
  const calledBy = (requestId: string) => ({
    authorization: `Bearer ${stack.tokens.operator}`,
    'x-request-id': requestId,
  });
  const grpcHost = () => stack.addresses[0]!;
  const connectHost = () => new URL(stack.connectUrl).host;

  test('a call over gRPC ends with DEADLINE_EXCEEDED when its deadline passes, and the server continues', async () => {
    const held = await holdRegistrations(stack.databaseUrl);
    const { error } = await grpc.call(service, 'RegisterOrder', plainRegistration(), {
      timeoutMs: 300,
      headers: { 'x-request-id': 'late-grpc' },
    });
    const line = await logLineOf('late-grpc');
    await held.release();
    expect(error).toMatchObject({ code: 4 });
    expect(line).toMatchObject({ code: 'deadline_exceeded', reason: 'DEADLINE_EXCEEDED' });
    await expectCoreToServe();
  });

  test('a call over Connect gets DEADLINE_EXCEEDED with its reason', async () => {
    const held = await holdRegistrations(stack.databaseUrl);
    const response = await post('RegisterOrder', plainRegistration(), { 'connect-timeout-ms': '300' });
    await held.release();
    expect(response.status).toBe(504);
    expect(await response.json()).toMatchObject({
      code: 'deadline_exceeded',
      details: [{ debug: { reason: 'DEADLINE_EXCEEDED', domain: 'gatehouse' } }],
    });
    await expectCoreToServe();
  });

  /** Each begins a call, and returns how its caller gives it up. */
  const overGrpc = (requestId: string) => {
    const leave = new AbortController();
    const order = registration({ merchantId, orderNumber: newOrderNumber() });
    const options = { headers: { 'x-request-id': requestId }, signal: leave.signal };
    const failure = failureOf(stack.client(OrderService, 'operator').registerOrder(order, options));
    return async () => {
      leave.abort();
      expect(await failure).toMatchObject({ code: 'Canceled' });
    };
  };
  const overConnect = (requestId: string) => {
    const leave = new AbortController();
    const call = post('RegisterOrder', plainRegistration(), calledBy(requestId), leave.signal);
    const settled = expect(call).rejects.toThrow();
    return () => {
      leave.abort();
      return settled;
    };
  };
  const resetHttp1 = (requestId: string) => {
    const socket = connectTcp({ port: Number(new URL(stack.connectUrl).port), host: '127.0.0.1' });
    const body = JSON.stringify(plainRegistration());
    const headers = { ...calledBy(requestId), host: 'core', 'content-type': 'application/json' };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = [`POST /${service}/RegisterOrder HTTP/1.1`, ...lines, `content-length: ${body.length}`];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    return () => socket.resetAndDestroy();
  };
  const resetGrpc = (host: () => string) => (requestId: string) => {
    const socket = connectTcp({ port: Number(host().split(':')[1]), host: '127.0.0.1' });
    const call = `${service}/RegisterOrder`;
    openGrpcCall(host(), call, calledBy(requestId), { createConnection: () => socket }).call.end(
      grpcFrame(service, 'RegisterOrder', plainRegistration()),
    );
    return () => socket.resetAndDestroy();
  };

  test.each<[string, string, (requestId: string) => () => unknown]>([
    ['a caller over gRPC that cancels', 'cancels-grpc', overGrpc],
    ['a caller over Connect that cancels', 'cancels-connect', overConnect],
    ['a peer over HTTP/1.1 that resets its connection', 'resets-http1', resetHttp1],
    ['a gRPC peer on the gRPC port that resets its connection', 'resets-grpc', resetGrpc(grpcHost)],
    ['a gRPC peer on the Connect port that resets its connection', 'resets', resetGrpc(connectHost)],
  ])('%s frees its call', async (_name, requestId, begin) => {
    const held = await holdRegistrations(stack.databaseUrl);
    const giveUp = begin(requestId);
    await held.untilWaiting();
    await giveUp();
    const line = await logLineOf(requestId);
    await held.release();
    expect(line).toMatchObject({ code: 'canceled', reason: 'CALL_CANCELLED', level: 'info' });
    await expectCoreToServe();
  });
});

test('a deadline in many years is not over on the gRPC port, nor one in a day on the Connect port', async () => {
  const { response } = await grpc.call('grpc.health.v1.Health', 'Check', {}, { timeoutMs: 9e11 });
  const dayMs = 24 * 60 * 60_000;
  const connect = await post('RegisterOrder', plainRegistration(), { 'connect-timeout-ms': String(dayMs) });

  expect(response).toEqual({ status: 'SERVING' });
  expect(connect.status).toBe(200);
});

test('a message of more than 4 MiB is refused before it is decompressed', async () => {
  // 256 MiB. The parts of a gzip file follow each other.
  const packed = Buffer.concat(Array<Buffer>(16).fill(gzipSync(Buffer.alloc(16 * 1024 * 1024, ' '))));
  const before = residentMiB();
  const response = await post('RegisterOrder', packed, { 'content-encoding': 'gzip' });
  expect(await response.json()).toMatchObject({ code: 'resource_exhausted' });
  expect(residentMiB() - before).toBeLessThan(128);
  await expectCoreToServe();
});

describe('a message of more than 256 KiB with tiny items', () => {
  // Each item needs two bytes: the tag of the field and the length 0.
  const items = Buffer.alloc(300 * 1024, Buffer.from([0x0a, 0]));

  test.each([
    ['checkout', 'resource_exhausted'],
    ['webhooks', 'resource_exhausted'],
    ['dashboard', 'resource_exhausted'],
    ['reader', 'resource_exhausted'],
    // These also send batches of orders to register, statements or logs.
    ['facade', 'invalid_argument'],
    ['operator', 'invalid_argument'],
  ] as const)('of the role %s gets %s over gRPC and Connect', async (role, code) => {
    const authorization = `Bearer ${stack.tokens[role]}`;
    const frame = Buffer.alloc(5 + items.length);
    frame.writeUInt32BE(items.length, 1);
    frame.set(items, 5);
    const overGrpc = openGrpcCall(stack.addresses[0]!, `${service}/BatchGetOrders`, { authorization });
    overGrpc.call.end(frame);
    const status = await overGrpc.status();

    const overConnect = await post('BatchGetOrders', items, {
      authorization,
      'content-type': 'application/proto',
    });

    expect(status).toBe(code === 'invalid_argument' ? '3' : '8');
    expect(await overConnect.json()).toMatchObject({ code });
  });
});

/** Sends everything, reads everything, and returns the bytes, or the error that a client would see instead. */
async function exchangeBytes(parts: readonly (string | Buffer)[]): Promise<string> {
  const { hostname: host, port } = new URL(stack.connectUrl);
  const socket = connectTcp({ host, port: Number(port), allowHalfOpen: true });
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  const closed = once(socket, 'close');
  for (const part of parts) if (!socket.write(part)) await once(socket, 'drain');
  await waitUntil('the server has answered and ended the connection', () => socket.readableEnded);
  socket.end();
  await closed;
  return received;
}

describe('a message of more than 4 KiB from a caller without a known token', () => {
  const noMessage = Buffer.alloc(8 * 1024, 0xff);
  const frame = Buffer.concat([Buffer.from([0, 0, 0, noMessage.length >> 8, 0]), noMessage]);

  /** The status of a call over gRPC that sends these bytes. Without the whole message, it does not end. */
  async function statusOf(
    path: string,
    headers: Record<string, string>,
    bytes: Uint8Array = frame,
  ): Promise<unknown> {
    const { call, status } = openGrpcCall(stack.addresses[0]!, path, headers);
    call.write(bytes);
    if (bytes.length > 6) call.end();
    return status();
  }

  // Every caller may query the health, with a small message.
  test.each([
    [`${service}/BatchRegisterOrders`, '16'],
    [`${service}/WatchOrderEvents`, '16'],
    [`${service}/StreamOrderBatches`, '16'],
    ['grpc.health.v1.Health/Check', '8'],
  ])('is refused before it has arrived completely: %s over gRPC', async (path, refused) => {
    const unknown = { authorization: `Bearer ${'x'.repeat(43)}` };
    expect(await statusOf(path, unknown, frame.subarray(0, 6))).toBe(refused);
    expect(await statusOf(path, unknown)).toBe(refused);
    expect(await statusOf(path, {}, frame.subarray(0, 6))).toBe(refused);
  });

  test('is refused with the reason, even when it is 3 MiB, and many come at once', async () => {
    const client = plainGrpcClient(stack.addresses[0]!, 'x'.repeat(43));
    const large = plainRegistration({ reason: 'x'.repeat(3 * 1024 * 1024) });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.call(service, 'RegisterOrder', large)),
    );
    client.close();
    expect(answers.map(({ error }) => error?.code)).toEqual(answers.map(() => 16));
  });

  test('is refused with the advice to send a known token, where anyone may call', async () => {
    for (const address of [stack.addresses[0]!, new URL(stack.connectUrl).host]) {
      const client = plainGrpcClient(address);
      const { error } = await client.call('grpc.health.v1.Health', 'Check', {
        service: 'x'.repeat(8 * 1024),
      });
      client.close();
      expect(error).toMatchObject({ message: expect.stringContaining('with a token this server knows') });
    }
  });

  test.each([`${service}/BatchRegisterOrders`, 'grpc.health.v1.Health/Check'])(
    'is read from a known caller: %s over gRPC',
    async (path) => {
      expect(await statusOf(path, { authorization: `Bearer ${stack.tokens.reader}` })).toBe('3');
    },
  );

  test('is refused when it was compressed to less, and read from a known caller: over gRPC', async () => {
    const packed = gzipSync(noMessage);
    const packedFrame = Buffer.concat([Buffer.from([1, 0, 0, 0, packed.length]), packed]);
    const health = 'grpc.health.v1.Health/Check';
    const gzip = { 'grpc-encoding': 'gzip' };
    expect(await statusOf(health, gzip, packedFrame)).toBe('8');
    expect(
      await statusOf(health, { ...gzip, authorization: `Bearer ${stack.tokens.reader}` }, packedFrame),
    ).toBe('3');
  });

  const head = `POST /${service}/BatchRegisterOrders HTTP/1.1\r\nhost: core\r\ncontent-type: application/json\r\n`;
  test.each([
    ['its length', 401, 'INVALID_SERVICE_TOKEN', `content-length: ${frame.length}\r\n\r\n`],
    ['chunks', 429, 'MESSAGE_TOO_LARGE', 'transfer-encoding: chunked\r\n\r\n2005\r\n'],
  ])('is refused before it is decoded: over Connect with %s', async (_what, status, reason, framing) => {
    const received = await exchangeBytes([head, framing, frame]);
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
    expect(received).toContain('4096');
    expect(received).toContain('with a token this server knows');
    expect(received).toContain(`"reason":"${reason}"`);
  });
});

describe('a body over HTTP/1.1 that is answered before it has arrived', () => {
  const chunk = Buffer.from(`10000\r\n${'x'.repeat(0x10000)}\r\n`);
  const chunks = [...Array.from({ length: 128 }, () => chunk), '0\r\n\r\n'];
  const head = (target: string, ...headers: string[]): string =>
    [`POST /${target} HTTP/1.1`, 'host: core', ...headers, '', ''].join('\r\n');
  const followingRequest =
    head('grpc.health.v1.Health/Check', 'content-type: application/json', 'content-length: 2') + '{}';
  const chunked = 'transfer-encoding: chunked';
  const exhausted = /"code":"resource_exhausted"/;

  test.each([
    ['chunks', 429, exhausted, ['content-type: application/json', chunked], chunks],
    [
      'compressed chunks',
      429,
      exhausted,
      ['content-type: application/json', 'content-encoding: gzip', chunked],
      chunks,
    ],
    [
      'a length of 8 MiB',
      429,
      exhausted,
      ['content-type: application/json', `content-length: ${8 * 1024 * 1024}`],
      [Buffer.alloc(8 * 1024 * 1024, 'x')],
    ],
    ['gRPC-Web', 200, /grpc-status: 8/, ['content-type: application/grpc-web+proto', chunked], chunks],
    ['a content type that is not accepted', 415, /^/, ['content-type: text/plain', chunked], chunks],
  ] as const)(
    '%s: the client reads the answer, which closes the connection',
    async (_what, status, body, headers, parts) => {
      const received = await exchangeBytes([
        head(`${service}/RegisterOrder`, `authorization: Bearer ${stack.tokens.operator}`, ...headers),
        ...parts,
        followingRequest,
      ]);
      expect(received).toMatch(body);
      // One answer: the bytes after the body on this connection are not read as a request.
      expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
      expect(received).toMatch(/^connection: close\r$/m);
      await expectCoreToServe();
    },
  );

  test('a small body of a refused request leaves the connection open', async () => {
    const received = await exchangeBytes([
      head(
        'no.such.Service/Method',
        `authorization: Bearer ${stack.tokens.operator}`,
        'content-length: 20000',
      ),
      'x'.repeat(20_000),
      followingRequest.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'),
    ]);
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200']);
  });

  test('a client that never stops sending is cut off', async () => {
    const { hostname: host, port } = new URL(stack.connectUrl);
    const socket = connectTcp({ host, port: Number(port), allowHalfOpen: true });
    let isClosed = false;
    socket.on('close', () => (isClosed = true)).on('error', () => undefined);
    socket.resume();
    socket.write(head(`${service}/RegisterOrder`, 'content-type: application/json', chunked));
    const sendOn = (): void => {
      while (!isClosed && socket.write(chunk));
    };
    socket.on('drain', sendOn);
    sendOn();
    await waitUntil('the server has closed the connection', () => isClosed);
    await expectCoreToServe();
  });
});

test.each([
  ['gRPC', () => stack.addresses[0]!],
  ['Connect', () => new URL(stack.connectUrl).host],
])('metadata above the limit of the %s port fails that call only', async (_name, address) => {
  const client = plainGrpcClient(address(), stack.tokens.operator);
  const { error } = await client.call(service, 'RegisterOrder', plainRegistration(), {
    headers: { 'x-large': 'x'.repeat(300_000) },
  });
  client.close();
  expect(error?.code).toBeGreaterThan(0);
  await expectCoreToServe();
});

/** The memory of core, as Linux reports it. */
function residentMiB(): number {
  const [, pages = '0'] = readFileSync(`/proc/${stack.cores[0]!.pid}/statm`, 'utf8').split(' ');
  return (Number(pages) * 4096) / 1024 / 1024;
}

describe('many calls', () => {
  test('1000 at once over one gRPC connection are all answered', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 1000 }, () => grpc.call(service, 'RegisterOrder', plainRegistration())),
    );
    const ids = outcomes.map(
      ({ response }) => (response?.['order'] as PlainMessage | undefined)?.['order_id'],
    );
    expect(new Set(ids).size).toBe(1000);
    expect(ids).not.toContain(undefined);
  });

  test('1000 at once over one HTTP/2 connection to the Connect port are all answered', async () => {
    const sessionManager = new Http2SessionManager(stack.connectUrl);
    const orders: Client<typeof OrderService> = createClient(
      OrderService,
      createConnectTransport({ baseUrl: stack.connectUrl, httpVersion: '2', sessionManager }),
    );
    const headers = { authorization: `Bearer ${stack.tokens.operator}` };
    const responses = await Promise.all(
      Array.from({ length: 1000 }, () =>
        orders.registerOrder(registration({ merchantId, orderNumber: newOrderNumber() }), { headers }),
      ),
    );
    sessionManager.abort();
    expect(new Set(responses.map(({ order }) => order?.orderId)).size).toBe(1000);
  });

  test('1,000 more, 100 at a time, do not increase the memory', async () => {
    const name = { merchant_id: merchantId, environment: 'ENVIRONMENT_SANDBOX', order_number: 'L-1' };
    const callOften = async (times: number): Promise<void> => {
      const worker = async (): Promise<void> => {
        for (let call = 0; call < times / 100; call += 1) await grpc.call(service, 'GetOrder', name);
      };
      await Promise.all(Array.from({ length: 100 }, worker));
    };
    await callOften(1_000);
    const before = residentMiB();
    await callOften(1_000);
    expect(residentMiB() - before).toBeLessThan(13);
  });
});

test('the calls of this file cause neither an unexpected error nor a warning of Node', () => {
  const loud = stack.cores[0]!.log.filter(
    ({ level, msg }) =>
      level === 'error' || level === 'fatal' || /Warning|Unhandled|handler for rpc/.test(String(msg)),
  );
  expect(loud).toEqual([]);
});
