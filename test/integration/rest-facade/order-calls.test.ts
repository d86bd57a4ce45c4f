import { describe, expect, test } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { OrderService, RegisterOrderResultSchema } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type {
  BatchRegisterOrdersRequest,
  RegisterOrderRequest,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { createOrderCalls } from '../../../src/rest-facade/order-calls.ts';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { reasonOf, toStatus } from '../../../src/platform/rpc/rpc-error.ts';
import { failureOf, outcomeOf } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';

const callsOn = (
  core: Partial<ServiceImpl<typeof OrderService>>,
  nowMs = () => performance.now(),
  send = (): Promise<undefined> => Promise.resolve(undefined),
) => {
  const transport = createRouterTransport((router) => void router.service(OrderService, core));
  const streams = { send };
  return createOrderCalls({ orders: createClient(OrderService, transport), streams, nowMs });
};

/** A core that records how it was called, and refuses order numbers that begin with "taken". */
function notingCore() {
  const alone: { request: RegisterOrderRequest; requestId: string | null; timeoutMs: number | undefined }[] =
    [];
  const batches: BatchRegisterOrdersRequest[] = [];
  const core = {
    registerOrder: (request: RegisterOrderRequest, context: HandlerContext) => {
      const requestId = context.requestHeader.get('x-request-id');
      alone.push({ request, requestId, timeoutMs: context.timeoutMs() });
      return { checkoutUrl: `url of ${request.orderNumber}` };
    },
    batchRegisterOrders: (batch: BatchRegisterOrdersRequest) => {
      batches.push(batch);
      return {
        results: batch.requests.map(({ orderNumber }) =>
          create(RegisterOrderResultSchema, {
            result: orderNumber.startsWith('taken')
              ? { case: 'error', value: toStatus(rpcError('ORDER_NUMBER_TAKEN', 'taken')) }
              : { case: 'response', value: { checkoutUrl: `url of ${orderNumber}` } },
          }),
        ),
      };
    },
  };
  return { core, alone, batches };
}

describe('the frequent calls', () => {
  test('a request that arrives alone while no stream is open is a unary call under its own id', async () => {
    const { core, alone, batches } = notingCore();

    const response = await callsOn(core, () => 1_000_000).register({ orderNumber: 'a' }, 'request-1');

    expect(response.checkoutUrl).toBe('url of a');
    expect(alone).toMatchObject([{ request: { orderNumber: 'a' }, requestId: 'request-1' }]);
    expect(alone[0]?.timeoutMs).toBeLessThanOrEqual(8_000);
    expect(batches).toEqual([]);
  });

  test('requests of one turn are one batch, each with its own id and its own answer', async () => {
    const { core, alone, batches } = notingCore();
    const calls = callsOn(core);

    const names = ['a', 'b', 'c'];
    const responses = await Promise.all(
      names.map((name) => calls.register({ orderNumber: name }, `request-of-${name}`)),
    );

    expect(responses.map(({ checkoutUrl }) => checkoutUrl)).toEqual(['url of a', 'url of b', 'url of c']);
    expect(alone).toEqual([]);
    expect(batches).toMatchObject([
      { requests: names.map((name) => ({ orderNumber: name, requestId: `request-of-${name}` })) },
    ]);
  });

  test('an item that core refuses fails alone, with the reason of a single call', async () => {
    const { core } = notingCore();
    const calls = callsOn(core);

    const [good, taken] = await Promise.allSettled(
      ['a', 'taken'].map((name) => calls.register({ orderNumber: name }, name)),
    );

    expect(good).toMatchObject({ status: 'fulfilled', value: { checkoutUrl: 'url of a' } });
    const reason: unknown = taken?.status === 'rejected' ? taken.reason : undefined;
    expect(reason).toBeInstanceOf(ConnectError);
    expect(reason instanceof ConnectError && [reason.code, reasonOf(reason)]).toEqual([
      Code.AlreadyExists,
      'ORDER_NUMBER_TAKEN',
    ]);
  });

  test.each([
    [
      'fails as a whole',
      () => Promise.reject(rpcError('DATABASE_UNAVAILABLE', 'no database')),
      'DATABASE_UNAVAILABLE',
    ],
    ['is answered without results', () => ({ results: [] }), 'INTERNAL'],
  ])('a batch that %s fails each of its requests', async (_how, batchRegisterOrders, reason) => {
    const calls = callsOn({ batchRegisterOrders });

    const failures = await Promise.all(
      ['a', 'b'].map((name) => failureOf(calls.register({ orderNumber: name }, name))),
    );

    expect(failures).toMatchObject([{ reason }, { reason }]);
  });

  test('a batch that a stream answers with UNAVAILABLE is sent as a call to any core, and no other failed one is', async () => {
    const { core, alone } = notingCore();
    const failing = (error: ConnectError) => callsOn(core, undefined, () => Promise.reject(error));
    const unavailable = failing(rpcError('DATABASE_UNAVAILABLE', 'the database does not answer'));
    const broken = failing(rpcError('INTERNAL', 'an unexpected error'));

    expect((await unavailable.register({ orderNumber: 'a' }, 'request-1')).checkoutUrl).toBe('url of a');
    expect(await failureOf(broken.register({ orderNumber: 'b' }, 'request-2'))).toMatchObject({
      reason: 'INTERNAL',
    });
    expect(alone.map(({ request }) => request.orderNumber)).toEqual(['a']);
  });

  test.each([
    ['registrations with a key', 'register', { idempotencyKey: 'key' }],
    ['direct payments', 'startDirectPayment', {}],
  ] as const)(
    '%s of a merchant that waits in core delay no other merchant, and only they are refused when too many wait',
    async (_name, kind, more) => {
      const held = Promise.withResolvers<undefined>();
      const answerOf = async ({ requests }: { requests: readonly { merchantId: string }[] }) => {
        if (requests.some(({ merchantId }) => merchantId.startsWith('slow'))) await held.promise;
        return { results: requests.map(() => ({ result: { case: 'response' as const, value: {} } })) };
      };
      const one = async (request: { merchantId: string }) => {
        await answerOf({ requests: [request] });
        return {};
      };
      const core = {
        registerOrder: one,
        startDirectPayment: one,
        batchRegisterOrders: answerOf,
        batchStartDirectPayments: answerOf,
      };
      // On a busy machine, this many calls take longer than their time limit.
      const calls = callsOn(core, () => 0);
      const slow = Array.from({ length: 12_000 }, (_, index) =>
        outcomeOf(calls[kind]({ merchantId: `slow-${index % 5}`, ...more }, 'request')),
      );

      await calls[kind]({ merchantId: 'other', ...more }, 'request');
      await calls.register({ merchantId: 'other' }, 'request');
      expect(calls[kind].isFull(true)).toBe(false);

      held.resolve(undefined);
      expect(new Set(await Promise.all(slow))).toEqual(new Set(['done', 'OVERLOADED']));
      // Their slots are free again.
      expect(await outcomeOf(calls[kind]({ merchantId: 'slow-0', ...more }, 'request'))).toBe('done');
    },
  );

  test('a request that waits until its deadline is refused as overload, and is not sent', async () => {
    const { core, alone } = notingCore();
    let now = 0;
    const calls = callsOn(core, () => now);

    const late = failureOf(calls.register({ orderNumber: 'late' }, 'request-1'));
    now = 8_000;

    expect(await late).toMatchObject({ reason: 'OVERLOADED' });
    expect(alone).toEqual([]);
  });

  test('a request whose merchant gets no turn until its deadline is refused as overload, and is not sent', async () => {
    const held = Promise.withResolvers<undefined>();
    const seen = new Set<string>();
    const startDirectPayment = async ({ merchantId }: { merchantId: string }) => {
      seen.add(merchantId);
      await held.promise;
      return {};
    };
    let now = 0;
    const calls = callsOn({ startDirectPayment }, () => now);
    const ask = (merchantId: string) => outcomeOf(calls.startDirectPayment({ merchantId }, 'request'));
    const first = Array.from({ length: 48 }, (_, index) => ask(`first-${index}`));
    await waitUntil('all turns are taken', () => seen.size === 48);

    const late = ask('late');
    await new Promise(setImmediate);
    now = 8_000;
    held.resolve(undefined);

    expect(await late).toBe('OVERLOADED');
    expect(seen).not.toContain('late');
    expect(new Set(await Promise.all(first))).toEqual(new Set(['done']));
  });

  test('a request above the limit of waiting requests is refused at once', async () => {
    const { core } = notingCore();
    const calls = callsOn(core);

    const outcomes = await Promise.allSettled(
      Array.from({ length: 1_001 }, (_, index) => calls.register({ orderNumber: `n${index}` }, `r${index}`)),
    );

    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(calls.register.isFull(true)).toBe(false);
    expect(refused).toHaveLength(1);
    expect(outcomes.at(-1)?.status).toBe('rejected');
  });
});
