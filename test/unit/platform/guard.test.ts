import { createHash } from 'node:crypto';
import { mock } from 'node:test';
import { Code, ConnectError, createHandlerContext } from '@connectrpc/connect';
import type { HandlerContext } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { annotate, callerOf } from '../../../src/platform/rpc/call-context.ts';
import { createGuard } from '../../../src/platform/rpc/guard.ts';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { encodeStatus, toStatus } from '../../../src/platform/rpc/rpc-error.ts';
import type { EndedCall } from '../../../src/platform/rpc/rpc-metrics.ts';
import { rpcService } from '../../../src/platform/rpc/rpc-service.ts';
import { keptLog } from '../../support/kept-log.ts';

const token = 'operator-token-of-24-chars';
const tokens = [{ role: 'operator' as const, hash: createHash('sha256').update(token).digest() }];

interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

interface Outcome {
  readonly result?: unknown;
  readonly error?: ConnectError;
  readonly lines: readonly Record<string, unknown>[];
}

type Handler = (context: HandlerContext) => Promise<object> | AsyncIterable<object>;

/** Makes one call of a guarded method, unary or streaming, and returns its result and the log. */
async function call(
  handler: Handler,
  { headers = { authorization: `Bearer ${token}` }, timeoutMs, signal }: CallOptions = {},
  read: (responses: AsyncIterable<unknown>) => Promise<unknown> = readAll,
): Promise<Outcome> {
  const { logger, log: lines } = keptLog({ level: 'info' });
  const service = rpcService(
    Health,
    {
      check: (_request, context) => handler(context) as Promise<object>,
      list: () => ({}),
      watch: (_request, context) => handler(context) as AsyncIterable<object>,
    },
    { check: ['operator'], list: 'anyone', watch: ['operator'] },
  );
  const guard = createGuard({
    tokens,
    logger,
    newRequestId: () => 'made-here',
    measure: () => {},
    explain: (error) =>
      error instanceof Error && error.message === 'database gone'
        ? rpcError('DATABASE_UNAVAILABLE', 'try again', { cause: error })
        : undefined,
  });
  const guarded = guard(service);
  const isStream = handler.constructor.name === 'AsyncGeneratorFunction';
  const spec = guarded.methods[isStream ? 'watch' : 'check']!;
  const context = createHandlerContext({
    service: Health,
    method: spec.method,
    protocolName: 'grpc',
    requestMethod: 'POST',
    url: '/',
    requestHeader: headers,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(signal === undefined ? {} : { requestSignal: signal }),
  });
  try {
    const implement = spec.impl as (request: object, context: HandlerContext) => unknown;
    const returned = implement({}, context);
    const result = await (isStream ? read(returned as AsyncIterable<unknown>) : returned);
    return { result, lines: [...lines] };
  } catch (error) {
    return { error: ConnectError.from(error), lines: [...lines] };
  } finally {
    context.abort();
  }
}

async function readAll(responses: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const response of responses) all.push(response);
  return all;
}

const fails = (error: Error): Handler[] => [
  () => Promise.reject(error),
  async function* () {
    yield {};
    throw error;
  },
];

describe('the log line of a call', () => {
  test('has request_id, rpc, protocol, role, code, duration and what the handler added', async () => {
    const { lines } = await call(
      async (context) => {
        annotate(context, { order_id: 'ord_1' });
        return {};
      },
      {
        headers: { authorization: `Bearer ${token}`, 'x-request-id': 'req-1', 'x-gatehouse-actor': 'almaz' },
      },
    );
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'info',
        msg: 'rpc',
        request_id: 'req-1',
        rpc: 'Health/Check',
        protocol: 'grpc',
        role: 'operator',
        actor: 'almaz',
        code: 'ok',
        duration_ms: expect.any(Number),
        order_id: 'ord_1',
      }),
    ]);
    expect(lines[0]).not.toHaveProperty('reason');
  });

  test('names the actor without control characters, which the audit log would refuse', async () => {
    const { lines } = await call(async () => ({}), {
      headers: { authorization: `Bearer ${token}`, 'x-gatehouse-actor': 'al\u0085maz' },
    });
    expect(lines).toMatchObject([{ actor: 'al?maz' }]);
  });

  test('is written once for a stream, however many messages it has', async () => {
    const { lines, result } = await call(async function* () {
      yield {};
      yield {};
    });
    expect(result).toHaveLength(2);
    expect(lines).toEqual([expect.objectContaining({ rpc: 'Health/Watch', code: 'ok' })]);
  });

  test('is written for a stream whose caller disconnected', async () => {
    const { lines } = await call(
      async function* () {
        for (;;) yield {};
      },
      {},
      async (responses) => {
        const iterator = responses[Symbol.asyncIterator]();
        await iterator.next();
        await iterator.return?.();
      },
    );
    expect(lines).toHaveLength(1);
  });

  test.each([
    ['INVALID_FIELDS', 'invalid_argument', 'info'],
    ['ORDER_NOT_FOUND', 'not_found', 'info'],
    ['INVALID_SERVICE_TOKEN', 'unauthenticated', 'info'],
    ['ORDER_NOT_PAYABLE', 'failed_precondition', 'info'],
    ['OVERLOADED', 'resource_exhausted', 'warn'],
    ['DATABASE_UNAVAILABLE', 'unavailable', 'warn'],
    ['SERVER_DRAINING', 'unavailable', 'info'],
    ['INTERNAL', 'internal', 'error'],
  ] as const)('%s has the code %s and the level %s', async (reason, code, level) => {
    for (const handler of fails(rpcError(reason, 'a message'))) {
      const { lines, error } = await call(handler);
      expect(lines).toEqual([expect.objectContaining({ code, reason, level, error: 'a message' })]);
      expect(error?.rawMessage).toBe('a message');
    }
  });
});

describe('calls of a flood', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  test('share lines when they are OVERLOADED, without a valid token, faulty or of an outage, and each is measured', async () => {
    const { logger, log: lines } = keptLog({ level: 'info' });
    const measured: EndedCall[] = [];
    let reasonOfList: 'INVALID_FIELDS' | 'DATABASE_UNAVAILABLE' = 'INVALID_FIELDS';
    let reasonOfWatch: 'OVERLOADED' | 'DATABASE_UNAVAILABLE' = 'OVERLOADED';
    const service = rpcService(
      Health,
      {
        check: () => Promise.reject(rpcError('OVERLOADED', 'too many')),
        list: () => Promise.reject(rpcError(reasonOfList, 'no such thing')),
        async *watch() {
          yield {};
          throw rpcError(reasonOfWatch, 'too many');
        },
      },
      { check: ['operator'], list: ['operator'], watch: ['operator'] },
    );
    const guard = createGuard({
      tokens,
      logger,
      newRequestId: () => 'made-here',
      measure: (ended) => measured.push(ended),
      explain: () => undefined,
    });
    const guarded = guard(service);
    const flood = async (name: 'check' | 'list' | 'watch', count: number, sent = token): Promise<void> => {
      const spec = guarded.methods[name]!;
      const implement = spec.impl as (request: object, context: HandlerContext) => unknown;
      for (let index = 0; index < count; index += 1) {
        const context = createHandlerContext({
          ...{ service: Health, method: spec.method, protocolName: 'grpc', requestMethod: 'POST', url: '/' },
          requestHeader: { authorization: `Bearer ${sent}` },
        });
        const returned = implement({}, context);
        await expect(
          name === 'watch' ? readAll(returned as AsyncIterable<unknown>) : returned,
        ).rejects.toThrow();
      }
    };

    await flood('check', 100);
    await flood('watch', 10);
    await flood('check', 50, 'not-a-token');
    await flood('list', 30);
    reasonOfList = 'DATABASE_UNAVAILABLE';
    await flood('list', 25);
    reasonOfWatch = 'DATABASE_UNAVAILABLE';
    await flood('watch', 23);
    mock.timers.tick(60_000);

    const refused = { level: 'warn', reason: 'OVERLOADED', code: 'resource_exhausted', error: 'too many' };
    const unknown = { level: 'info', reason: 'INVALID_SERVICE_TOKEN', role: 'anyone', rpc: 'Health/Check' };
    const faulty = { level: 'info', reason: 'INVALID_FIELDS', role: 'operator', rpc: 'Health/List' };
    const outage = { ...faulty, level: 'warn', reason: 'DATABASE_UNAVAILABLE' };
    expect(lines).toMatchObject([
      { ...refused, rpc: 'Health/Check', count: 1 },
      { ...refused, rpc: 'Health/Watch', count: 1 },
      { ...unknown, count: 1 },
      ...Array.from({ length: 20 }, () => faulty),
      outage,
      outage,
      { ...refused, rpc: 'Health/Check', count: 99 },
      { ...refused, rpc: 'Health/Watch', count: 9 },
      { ...unknown, count: 49 },
      { ...faulty, count: 10 },
      // The calls of all methods, with the facts of the latest.
      { ...outage, rpc: 'Health/Watch', count: 46 },
    ]);
    expect(measured).toHaveLength(215);
    expect(measured.filter(({ isOverload }) => isOverload)).toHaveLength(110);
  });
});

describe('the cause of an error', () => {
  test('of an unknown kind is in the log only: the caller gets INTERNAL and the request id', async () => {
    for (const handler of fails(new Error('canary: password is 1234'))) {
      const { lines, error } = await call(handler);
      expect(error).toMatchObject({
        code: Code.Internal,
        rawMessage: 'an unexpected error; the log has it under this request id',
      });
      expect(lines).toEqual([
        expect.objectContaining({
          reason: 'INTERNAL',
          err: expect.objectContaining({ message: 'canary: password is 1234', stack: expect.any(String) }),
        }),
      ]);
      expect(encodeStatus(toStatus(error!)).toString('latin1')).not.toContain('canary');
    }
  });

  test.each([undefined, null, 'text', 42])('may be any value: %p', async (thrown) => {
    const { error, lines } = await call(async () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- a library may throw anything
      throw thrown;
    });
    expect(error?.code).toBe(Code.Internal);
    expect(lines).toHaveLength(1);
  });

  test('that the process can explain is replaced by its own error', async () => {
    for (const handler of fails(new Error('database gone'))) {
      const { error, lines } = await call(handler);
      expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: 'try again' });
      expect(lines).toEqual([expect.objectContaining({ reason: 'DATABASE_UNAVAILABLE' })]);
    }
  });

  test('that is a ConnectError without one of our reasons is not passed on', async () => {
    const { error } = await call(() => Promise.reject(new ConnectError('canary', Code.DataLoss)));
    expect(error?.message).not.toContain('canary');
    expect(error?.code).toBe(Code.Internal);
  });
});

describe('a call that ends before its handler', () => {
  const never: Handler = () => new Promise<object>(() => undefined);

  test('because its deadline passed ends with DEADLINE_EXCEEDED', async () => {
    const { error, lines } = await call(never, { timeoutMs: 20 });
    expect(error?.code).toBe(Code.DeadlineExceeded);
    expect(lines).toEqual([expect.objectContaining({ reason: 'DEADLINE_EXCEEDED', level: 'warn' })]);
  });

  test('because its caller disconnects at the deadline does not count as cancelled', async () => {
    const { lines } = await call(never, { timeoutMs: 60, signal: AbortSignal.timeout(20) });
    expect(lines).toEqual([expect.objectContaining({ reason: 'DEADLINE_EXCEEDED' })]);
  });

  test('because its caller disconnects ends with CALL_CANCELLED', async () => {
    const { error, lines } = await call(never, { timeoutMs: 60_000, signal: AbortSignal.timeout(20) });
    expect(error?.code).toBe(Code.Canceled);
    expect(lines).toEqual([expect.objectContaining({ reason: 'CALL_CANCELLED', level: 'info' })]);
  });
});

describe('the request id', () => {
  const idOf = async (given: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, 'x-request-id': given };
    return (await call((context) => Promise.resolve({ id: callerOf(context).requestId }), { headers }))
      .result;
  };

  test.each(['a', 'A-1._z', 'x'.repeat(64)])('"%s" is kept', async (given) => {
    expect(await idOf(given)).toEqual({ id: given });
  });

  test.each(['', 'with space', 'x'.repeat(65), 'é', '"}', 'a,b'])('"%s" is replaced', async (given) => {
    expect(await idOf(given)).toEqual({ id: 'made-here' });
  });
});

test('the handler of a refused call does not run', async () => {
  let ran = false;
  const handler: Handler = async () => {
    ran = true;
    return {};
  };
  const { error } = await call(handler, { headers: {} });
  expect(error?.code).toBe(Code.Unauthenticated);
  expect(ran).toBe(false);
});
