import type { MessageInitShape } from '@bufbuild/protobuf';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { ConnectError, createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { pushable } from 'it-pushable';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { Client as GrpcClient, Metadata, credentials } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import { ErrorInfoSchema } from '../../../src/gen/google/rpc/error_details_pb.js';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { ServerReflection } from '../../../src/gen/grpc/reflection/v1/reflection_pb.js';
import type { ServerReflectionRequestSchema } from '../../../src/gen/grpc/reflection/v1/reflection_pb.js';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { registration } from '../../support/order-requests.ts';
import { startProcess } from '../../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { collectSpans } from '../../support/span-collector.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { holdRegistrations } from './hold-registrations.ts';
import { runInSpan } from '../../../src/platform/tracing/span.ts';
import { sharedStack, shared } from '../../support/shared-stack.ts';
import { readError, readStatus } from './rpc-clients.ts';

let merchantId: string;
let orderCount = 0;
const opened: (() => void)[] = [];
const started: GatehouseProcess[] = [];

const stack = sharedStack({ cores: 2, facades: 0 });
beforeAll(async () => {
  merchantId = (await stack.createMerchant()).id;
});

afterEach(async () => {
  for (const close of opened.splice(0)) close();
  await Promise.all(started.splice(0).map((core) => core.stop('SIGKILL')));
});

function ordersAt(addresses: readonly string[]): Client<typeof OrderService> {
  const transport = createGrpcTransport({ addresses, token: stack.tokens.operator });
  opened.push(() => transport.close());
  return createClient(OrderService, transport);
}

async function startAnotherCore(): Promise<GatehouseProcess> {
  const core = await startProcess('core', stack.coreSettings);
  started.push(core);
  return core;
}

/** A client of this core and of the first one, after this core has answered. */
async function ordersWith(core: GatehouseProcess): Promise<Client<typeof OrderService>> {
  const orders = ordersAt([addressOf(core), stack.addresses[0]!]);
  await waitUntil('the core has answered', async () => {
    await failureOf(orders.getOrder(missing(), { headers: { 'x-request-id': 'begun' } }));
    return linesOf(core, 'begun').length > 0;
  });
  return orders;
}

/** An address without a listener. */
async function deadAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}

const order = () => registration({ merchantId, orderNumber: `T-${++orderCount}` });
const missing = () =>
  ({ merchantId, environment: 1, key: { case: 'orderNumber', value: 'missing' } }) as const;
const addressOf = (core: GatehouseProcess): string => String(core.ready['grpc']);

const linesOf = (core: GatehouseProcess, requestId: string) =>
  core.log.filter(({ request_id }) => request_id === requestId);

describe('a call', () => {
  test('fails with the code, the message and the details the server sent', async () => {
    const error = await ordersAt(stack.addresses)
      .getOrder(missing())
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectError);
    expect(error).toMatchObject({
      code: 5,
      rawMessage: 'the merchant has no such order in this environment',
    });
    expect((error as ConnectError).findDetails(ErrorInfoSchema)).toEqual([
      expect.objectContaining({ reason: 'ORDER_NOT_FOUND', domain: 'gatehouse' }),
    ]);
  });

  test.each([
    { orderNumber: 'missing', status: 'NOT_FOUND', error: 'not_found' },
    { orderNumber: 'traced', status: 'OK', error: undefined },
  ])('leaves its status $status in the span of a recorded trace', async ({ orderNumber, status, error }) => {
    const orders = ordersAt(stack.addresses);
    await orders.registerOrder(registration({ merchantId, orderNumber: 'traced' }));
    const spans = await collectSpans(async (tracing) => {
      const span = tracing.beginAtEdge('caller', undefined, {});
      const key = { case: 'orderNumber', value: orderNumber } as const;
      const call = runInSpan(span, () => orders.getOrder({ ...missing(), key }));
      await call.catch((thrown: unknown) => expect(thrown).toBeInstanceOf(ConnectError));
      span?.end();
    });
    const { attributes } = spans['gatehouse.v1.OrderService/GetOrder']!;
    expect(attributes['rpc.response.status_code']).toBe(status);
    expect(attributes['error.type']).toBe(error);
  });

  test('goes to the server directly, whatever proxy the environment names', async () => {
    const before = process.env['http_proxy'];
    process.env['http_proxy'] = `http://${await deadAddress()}`;
    try {
      const failure = await failureOf(ordersAt(stack.addresses.slice(0, 1)).getOrder(missing()));
      expect(failure).toMatchObject({ reason: 'ORDER_NOT_FOUND' });
    } finally {
      if (before === undefined) delete process.env['http_proxy'];
      else process.env['http_proxy'] = before;
    }
  });

  test('carries its headers: the request id and the actor are in the log of the server', async () => {
    const headers = { 'x-request-id': 'transport-1', 'x-gatehouse-actor': 'almaz' };
    await failureOf(ordersAt([stack.addresses[0]!]).getOrder(missing(), { headers }));
    const [line] = await waitUntil('the call is in the log', () => {
      const lines = linesOf(stack.cores[0]!, 'transport-1');
      return lines.length > 0 ? lines : undefined;
    });
    expect(line).toMatchObject({
      rpc: 'OrderService/GetOrder',
      role: 'operator',
      actor: 'almaz',
      protocol: 'grpc',
    });
  });

  test('is not made with a signal that is already aborted', async () => {
    const headers = { 'x-request-id': 'never-made' };
    const call = ordersAt(stack.addresses).registerOrder(order(), { signal: AbortSignal.abort(), headers });
    expect(await failureOf(call)).toMatchObject({ code: 'Canceled' });
    expect(stack.cores.flatMap((core) => linesOf(core, 'never-made'))).toEqual([]);
  });

  test('ends with DEADLINE_EXCEEDED when its deadline passes', async () => {
    const held = await holdRegistrations(stack.databaseUrl);
    const failure = await failureOf(ordersAt(stack.addresses).registerOrder(order(), { timeoutMs: 200 }));
    await held.release();
    expect(failure).toMatchObject({ code: 'DeadlineExceeded' });
  });
});

test('a response with a status that is no number fails with a text that gives the reason', async () => {
  const server = createHttp2Server().on('stream', (stream) =>
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': 'O' },
      { endStream: true },
    ),
  );
  opened.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;

  const error = await ordersAt([`127.0.0.1:${port}`])
    .getOrder(missing())
    .catch((thrown: unknown) => thrown);

  expect(error).toMatchObject({ code: 2, rawMessage: expect.stringContaining('no valid gRPC status') });
  expect(inspect(error)).not.toContain('NaN');
});

describe('a stream', () => {
  const watch = { onlyNew: true } as const;

  test('is cancelled by its signal, and the server notices', async () => {
    const leave = new AbortController();
    const options = { signal: leave.signal, headers: { 'x-request-id': 'left' } };
    const reading = (async () => {
      for await (const { cursor } of ordersAt([stack.addresses[0]!]).watchOrderEvents(watch, options)) {
        if (cursor !== '') leave.abort();
      }
    })();
    expect(await failureOf(reading)).toMatchObject({ code: 'Canceled' });
    await waitUntil('the server has ended the stream', () => linesOf(stack.cores[0]!, 'left').length === 1);
  });

  test('ends with DEADLINE_EXCEEDED when its deadline passes', async () => {
    const reading = (async () => {
      for await (const { cursor } of ordersAt(stack.addresses).watchOrderEvents(watch, { timeoutMs: 300 })) {
        expect(cursor).not.toBe('');
      }
    })();
    expect(await failureOf(reading)).toMatchObject({ code: 'DeadlineExceeded' });
  });

  test('that is refused fails with the details the server sent', async () => {
    const messages = ordersAt(stack.addresses).watchOrderEvents({ merchantId: 'nobody' });
    const reading = messages[Symbol.asyncIterator]();
    expect(await failureOf(reading.next())).toMatchObject({
      code: 'InvalidArgument',
      reason: 'INVALID_FIELDS',
      issues: { merchant_id: expect.any(String) },
    });
  });

  describe('in both directions', () => {
    const asking = (questions: AsyncIterable<MessageInitShape<typeof ServerReflectionRequestSchema>>) => {
      const transport = createGrpcTransport({ addresses: stack.addresses, token: stack.tokens.operator });
      opened.push(() => transport.close());
      const answers = createClient(ServerReflection, transport).serverReflectionInfo(questions);
      return answers[Symbol.asyncIterator]();
    };
    const listServices = { messageRequest: { case: 'listServices', value: '' } } as const;

    test('answers each message while it is open, and ends when the caller sends no more', async () => {
      const questions = pushable<typeof listServices>({ objectMode: true });
      const answers = asking(questions);
      for (let count = 0; count < 2; count += 1) {
        questions.push(listServices);
        const { value } = await answers.next();
        expect(value).toMatchObject({ messageResponse: { case: 'listServicesResponse' } });
      }
      questions.end();
      expect(await answers.next()).toMatchObject({ done: true });
    });

    test('ends when the caller fails', async () => {
      const questions = pushable<typeof listServices>({ objectMode: true });
      const answers = asking(questions);
      questions.push(listServices);
      await answers.next();
      questions.end(new Error('nothing more comes to mind'));
      expect(await failureOf(answers.next())).toMatchObject({ code: 'Canceled' });
    });
  });
});

describe('several addresses', () => {
  test('share the calls', async () => {
    const orders = ordersAt(stack.addresses);
    const get = (requestId: string) =>
      failureOf(orders.getOrder(missing(), { headers: { 'x-request-id': requestId } }));
    await waitUntil('both have answered', async () => {
      await get('warm-up');
      return stack.cores.every((core) => linesOf(core, 'warm-up').length > 0);
    });
    for (let call = 0; call < 20; call += 1) await get('shared');
    const counts = () => stack.cores.map((core) => linesOf(core, 'shared').length);
    await waitUntil('all 20 are in the logs', () => counts()[0]! + counts()[1]! === 20);
    expect(Math.min(...counts())).toBeGreaterThanOrEqual(5);
  });

  test('an address where nothing listens is skipped', async () => {
    const orders = ordersAt([await deadAddress(), ...stack.addresses]);
    for (let call = 0; call < 20; call += 1) await orders.registerOrder(order());
  });

  test('are all used when they are names', async () => {
    const orders = ordersAt(stack.addresses.map((address) => address.replace('127.0.0.1', 'localhost')));
    await expect(orders.registerOrder(order())).resolves.toMatchObject({ repeated: false });
  });

  test('fail with UNAVAILABLE long before the deadline when none has a listener', async () => {
    const orders = ordersAt([await deadAddress(), await deadAddress()]);
    // A call that waited for its deadline would hang here.
    const failure = await failureOf(orders.registerOrder(order(), { timeoutMs: 3_600_000 }));
    expect(failure).toMatchObject({ code: 'Unavailable' });
  });

  test('lose no call when a server is killed under traffic, because calls are retried on the others', async () => {
    const victim = await startAnotherCore();
    const orders = await ordersWith(victim);
    const calls = Array.from({ length: 300 }, () => orders.registerOrder(order()));
    const killed = victim.stop('SIGKILL');
    const outcomes = await Promise.allSettled(calls);
    await killed;
    expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([]);
  });

  test('a core that hangs gets no calls after a while, and the others continue', async () => {
    const hanging = await startAnotherCore();
    const orders = await ordersWith(hanging);
    hanging.signal('SIGSTOP');
    let inARow = 0;
    await waitUntil('ten calls in a row succeed', async () => {
      const { code } = await failureOf(orders.getOrder(missing(), { timeoutMs: 1_000 }));
      inARow = code === 'NotFound' ? inARow + 1 : 0;
      return inARow === 10;
    });
  });
});

describe('close', () => {
  test('lets calls in progress end, refuses later ones, and may be repeated', async () => {
    const held = await holdRegistrations(stack.databaseUrl);
    const transport = createGrpcTransport({ addresses: stack.addresses, token: stack.tokens.operator });
    const underWay = createClient(OrderService, transport).registerOrder(order());
    await held.untilWaiting();
    transport.close();
    transport.close();
    await held.release();
    await expect(underWay).resolves.toMatchObject({ repeated: false });
    await expect(createClient(Health, transport).check({})).rejects.toThrow();
  });
});

// Errors of grpc-js and connect-node themselves, as clients receive them that share no code with Gatehouse.

const service = 'gatehouse.v1.OrderService';
const garbage = Buffer.from([0xff, 0xff, 0xff]);
const tooLarge = Buffer.alloc(4 * 1024 * 1024 + 1);

const grpc = {
  'the gRPC port': shared(async () => new GrpcClient(stack.addresses[0]!, credentials.createInsecure())),
  'the Connect port': shared(
    async () => new GrpcClient(new URL(stack.connectUrl).host, credentials.createInsecure()),
  ),
};

function failureOverGrpc(
  port: keyof typeof grpc,
  method: string,
  body: Buffer,
  headers: Record<string, string> = {},
) {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries({
    authorization: `Bearer ${stack.tokens.operator}`,
    ...headers,
  }))
    metadata.set(name, value);
  return new Promise((done) => {
    const same = (bytes: Buffer): Buffer => bytes;
    grpc[port].makeUnaryRequest(
      `/${service}/${method}`,
      same,
      same,
      body,
      metadata,
      (error: ServiceError | null) => done(error === null ? undefined : readError(error)),
    );
  });
}

describe.each(['the gRPC port', 'the Connect port'] as const)(
  'a gRPC client of %s reads the reason',
  (port) => {
    test.each([
      ['an unknown method', 'NoSuchMethod', Buffer.alloc(0), 12, 'NOT_IMPLEMENTED', 'NoSuchMethod'],
      ['a message that cannot be read', 'GetOrder', garbage, 3, 'INVALID_FIELDS', 'valid'],
      ['a message that is too large', 'GetOrder', tooLarge, 8, 'MESSAGE_TOO_LARGE', 'fewer items'],
      ['a stream that cannot be read', 'WatchOrderEvents', garbage, 3, 'INVALID_FIELDS', 'valid'],
    ])('of %s', async (_name, method, body, code, reason, text) => {
      expect(await failureOverGrpc(port, method, body)).toMatchObject({
        code,
        message: expect.stringContaining(text),
        info: { reason, domain: 'gatehouse' },
      });
    });
  },
);

describe('a Connect client reads the reason', () => {
  const post = async (
    method: string,
    body: Buffer | string,
    headers: Record<string, string>,
    verb = 'POST',
  ) => {
    const response = await fetch(`${stack.connectUrl}/${service}/${method}`, {
      method: verb,
      headers: { authorization: `Bearer ${stack.tokens.operator}`, ...headers },
      ...(verb === 'GET' ? {} : { body: new Uint8Array(Buffer.from(body)) }),
    });
    const { status, headers: answered } = response;
    return { status, allow: answered.get('allow'), body: Buffer.from(await response.arrayBuffer()) };
  };
  const read = (json: string) => {
    const { code, message, details } = JSON.parse(json) as {
      code: string;
      message: string;
      details: { type: string; value: string }[];
    };
    const sent = details.map(({ type, value }) => ({ type_url: type, value: Buffer.from(value, 'base64') }));
    return { ...readStatus({ code: 0, message, details: sent }), code };
  };
  const proto = { 'content-type': 'application/proto' };
  const json = { 'content-type': 'application/json' };

  const [invalid, unimplemented] = ['invalid_argument INVALID_FIELDS', 'unimplemented NOT_IMPLEMENTED'];
  const compressed = { ...json, 'content-encoding': 'gzip' };
  const tooLargeInside = gzipSync(Buffer.alloc(5_000_000, ' '));

  test.each([
    ['bytes that are no message', garbage, proto, 400, invalid, 'valid'],
    // It is so long that the answer is compressed.
    ['JSON with a long unknown field', `{"${'x'.repeat(1_100)}":1}`, json, 400, invalid, 'xxx'],
    // The answer quotes it, and is longer than a message may be.
    [
      'JSON with the longest unknown field',
      `{"${'x'.repeat(4 * 1024 * 1024 - 6)}":1}`,
      json,
      400,
      invalid,
      'xxx',
    ],
    ['text that is no JSON', '{"x"', json, 400, invalid, 'JSON'],
    [
      'a body that is not compressed as its header says',
      '{}',
      compressed,
      400,
      invalid,
      'decompression failed',
    ],
    ['an unknown compression', '{}', { ...json, 'content-encoding': 'zstd' }, 501, unimplemented, 'gzip'],
    [
      'a deadline that is no number',
      '{}',
      { ...json, 'connect-timeout-ms': 'soon' },
      400,
      invalid,
      'timeout',
    ],
    [
      'a deadline in more than a day',
      '{}',
      { ...json, 'connect-timeout-ms': '90000001' },
      400,
      invalid,
      'at most 24 hours',
    ],
    [
      'a large body within',
      tooLargeInside,
      compressed,
      429,
      'resource_exhausted MESSAGE_TOO_LARGE',
      'fewer items',
    ],
    [
      'a content type of no protocol',
      'x',
      { 'content-type': 'text/plain' },
      415,
      invalid,
      'application/json',
    ],
    ['WatchOrderEvents, called like a unary method', '{}', json, 415, invalid, 'application/connect+json'],
    ['NoSuchMethod, which does not exist', '{}', json, 404, unimplemented, 'OrderService/NoSuchMethod'],
  ])('of %s', async (name, body, headers, status, code, text) => {
    const method = /^(WatchOrderEvents|NoSuchMethod)/.exec(name)?.[0] ?? 'GetOrder';
    const answer = await post(method, body, headers);
    expect(answer.status).toBe(status);
    const [expected, reason] = code.split(' ');
    expect(read(answer.body.toString())).toMatchObject({
      code: expected,
      message: expect.stringContaining(text),
      info: { reason, domain: 'gatehouse' },
    });
  });

  test.each([
    ['application/json', 'connect-timeout-ms', '9999999999', 400],
    ['application/grpc', 'grpc-timeout', '99999999H', 200],
  ])(
    'of a deadline over %s that no timer takes, and Node warns of none',
    async (type, name, value, status) => {
      const warnings: string[] = [];
      const keep = ({ message }: Error): unknown => warnings.push(message);
      process.on('warning', keep);
      try {
        const answer = await post('GetOrder', '{}', { 'content-type': type, [name]: value });
        expect(answer.status).toBe(status);
      } finally {
        process.off('warning', keep);
      }
      expect(warnings).toEqual([]);
    },
  );

  test('of a GET of a method that changes something', async () => {
    const answer = await post('RegisterOrder', '', {}, 'GET');
    expect(answer).toMatchObject({ status: 405, allow: 'POST' });
    expect(read(answer.body.toString())).toMatchObject({
      message: 'the HTTP method must be POST',
      info: { reason: 'INVALID_FIELDS' },
    });
  });

  const envelope = (data: Buffer): Buffer =>
    Buffer.concat([Buffer.from([0, 0, 0, data.length >> 8, data.length & 0xff]), data]);

  test.each([
    ['whose message cannot be read', garbage, { 'content-type': 'application/connect+proto' }],
    [
      'whose answer is so long that it is compressed',
      Buffer.from(`{"${'x'.repeat(1_100)}":1}`),
      { 'content-type': 'application/connect+json', 'connect-accept-encoding': 'gzip' },
    ],
  ])('of a stream %s', async (_name, message, headers) => {
    const { body } = await post('WatchOrderEvents', envelope(message), headers);
    expect(body[0]).toBe(2);
    const { error } = JSON.parse(body.subarray(5).toString()) as { error: object };
    expect(read(JSON.stringify(error))).toMatchObject({
      code: 'invalid_argument',
      info: { reason: 'INVALID_FIELDS' },
    });
  });

  test('over gRPC-Web', async () => {
    const headers = { 'content-type': 'application/grpc-web+proto' };
    const { body } = await post('GetOrder', envelope(garbage), headers);
    expect(body[0]).toBe(0x80);
    const trailer = body.subarray(5).toString();
    expect(trailer).toContain('grpc-status: 3');
    expect(trailer).toContain('grpc-status-details-bin: ');
  });
});
