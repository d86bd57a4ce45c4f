import { beforeAll, describe, expect, test } from '@jest/globals';
import { ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport as connectGrpcTransport } from '@connectrpc/connect-node';
import { pushable } from 'it-pushable';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type {
  StreamOrderBatchesRequest,
  StreamOrderBatchesResponse,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { fromStatus, reasonOf } from '../../../src/platform/rpc/rpc-error.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import { registration } from '../../support/order-requests.ts';
import { describeFailure } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { holdRegistrations } from './hold-registrations.ts';
import { bufCurl, plainGrpcClient } from './rpc-clients.ts';
import { sharedStack } from '../../support/shared-stack.ts';

let merchantId: string;
let orderCount = 0;

const stack = sharedStack({ facades: 0 });
beforeAll(async () => {
  merchantId = (await stack.createMerchant()).id;
});

const newOrderNumber = (): string => `B-${++orderCount}`;
const order = (orderNumber = newOrderNumber()) => registration({ merchantId, orderNumber });
const registering = (...orders: ReturnType<typeof order>[]) =>
  ({ case: 'registerOrders', value: { requests: orders } }) as const;
const reading = (...orderNumbers: string[]) =>
  ({
    case: 'getOrders',
    value: {
      requests: orderNumbers.map((value) => ({
        merchantId,
        environment: Environment.SANDBOX,
        key: { case: 'orderNumber', value } as const,
      })),
    },
  }) as const;

type Batch = Partial<Pick<StreamOrderBatchesRequest, 'batchId' | 'requestId'>> & {
  readonly batch?: ReturnType<typeof registering> | ReturnType<typeof reading>;
  readonly timeout?: { readonly seconds: bigint; readonly nanos: number };
};

/** A stream and its responses so far. `next` waits for one more response. */
function openStream(orders = stack.client(OrderService, 'facade')) {
  const requests = pushable<Batch>({ objectMode: true });
  // Connect also calls methods of a generator, and the pushable answers some of them without a promise.
  const input = async function* () {
    yield* requests;
  };
  const responses = orders.streamOrderBatches(input())[Symbol.asyncIterator]();
  const next = async (): Promise<StreamOrderBatchesResponse> => {
    const { value, done } = await responses.next();
    if (done === true) throw new Error('the stream has ended');
    return value;
  };
  return {
    send: (batch: Batch) => void requests.push(batch),
    end: () => void requests.end(),
    next,
    responses,
  };
}

/** A stream that core has announced as open. */
async function openedStream() {
  const stream = openStream();
  await stream.next();
  return stream;
}

const failureIn = ({ outcome }: StreamOrderBatchesResponse) =>
  outcome.case === 'error' ? describeFailure(fromStatus(outcome.value)) : undefined;

const lines = (requestId: string) => stack.cores[0]!.log.filter(({ request_id }) => request_id === requestId);

describe('a stream of batches', () => {
  test('announces that it is open, and answers each batch with its number until the caller ends it', async () => {
    const stream = openStream();
    expect(await stream.next()).toMatchObject({ batchId: 0, outcome: { case: undefined } });
    const orderNumber = newOrderNumber();

    stream.send({ batchId: 7, batch: registering(order(orderNumber), { ...order(), amount: '0' }) });
    expect(await stream.next()).toMatchObject({
      batchId: 7,
      outcome: {
        case: 'registerOrders',
        value: {
          results: [
            { result: { case: 'response', value: { order: { orderNumber }, repeated: false } } },
            { result: { case: 'error' } },
          ],
        },
      },
    });
    stream.send({ batchId: 9, batch: reading(orderNumber) });
    expect(await stream.next()).toMatchObject({
      batchId: 9,
      outcome: {
        case: 'getOrders',
        value: { results: [{ result: { case: 'response', value: { order: { orderNumber } } } }] },
      },
    });
    stream.end();
    expect(await stream.responses.next()).toMatchObject({ done: true });
  });

  test('answers a fast batch before an earlier slow one', async () => {
    const known = newOrderNumber();
    const stream = await openedStream();
    stream.send({ batchId: 1, batch: registering(order(known)) });
    await stream.next();
    const held = await holdRegistrations(stack.databaseUrl);

    stream.send({ batchId: 2, batch: registering(order()) });
    await held.untilWaiting();
    stream.send({ batchId: 3, batch: reading(known) });
    expect(await stream.next()).toMatchObject({ batchId: 3, outcome: { case: 'getOrders' } });
    await held.release();
    expect(await stream.next()).toMatchObject({ batchId: 2, outcome: { case: 'registerOrders' } });
    stream.end();
  });

  test('answers batches in progress after the caller has half-closed it', async () => {
    const stream = await openedStream();
    const held = await holdRegistrations(stack.databaseUrl);
    stream.send({ batchId: 1, batch: registering(order()) });
    stream.end();
    await held.untilWaiting();
    await held.release();
    expect(await stream.next()).toMatchObject({ batchId: 1, outcome: { case: 'registerOrders' } });
    expect(await stream.responses.next()).toMatchObject({ done: true });
  });

  test.each([
    ['no batch', {}, 'batch'],
    ['no items', { batch: registering() }, 'requests'],
    ['too many items', { batch: reading(...Array.from({ length: 501 }, () => 'x')) }, 'requests'],
  ] as const)('refuses a request with %s without failing the next one', async (_what, request, field) => {
    const stream = await openedStream();
    stream.send({ batchId: 1, ...request });
    expect(failureIn(await stream.next())).toMatchObject({
      reason: 'INVALID_FIELDS',
      issues: { [field]: expect.any(String) },
    });
    stream.send({ batchId: 2, batch: reading('unknown') });
    expect(await stream.next()).toMatchObject({ batchId: 2, outcome: { case: 'getOrders' } });
    stream.end();
  });

  test('applies a deadline to one batch, while the stream and other batches continue', async () => {
    const stream = await openedStream();
    const held = await holdRegistrations(stack.databaseUrl);
    const late = newOrderNumber();
    stream.send({
      batchId: 1,
      batch: registering(order(late)),
      timeout: { seconds: 0n, nanos: 200_000_000 },
    });
    stream.send({ batchId: 2, batch: reading('unknown') });

    const answers = [await stream.next(), await stream.next()].sort((a, b) => a.batchId - b.batchId);
    await held.release();
    stream.end();
    expect(failureIn(answers[0]!)).toMatchObject({ reason: 'DEADLINE_EXCEEDED' });
    expect(answers).toMatchObject([{ batchId: 1 }, { batchId: 2, outcome: { case: 'getOrders' } }]);
  });

  test('logs one line for each batch, and none for a stream that ends normally', async () => {
    const stream = await openedStream();
    const one = order();
    stream.send({ batchId: 1, requestId: 'alone-on-a-stream', batch: registering(one) });
    const { outcome } = await stream.next();
    const result = outcome.case === 'registerOrders' ? outcome.value.results[0]?.result : undefined;
    stream.send({ batchId: 2, requestId: 'two-on-a-stream', batch: registering(order(), order()) });
    await stream.next();
    stream.send({ batchId: 3, requestId: 'not usable', batch: reading('unknown') });
    await stream.next();
    stream.end();
    await stream.responses.next();

    await waitUntil('the lines are there', () => lines('two-on-a-stream').length > 0);
    expect(lines('alone-on-a-stream')).toEqual([
      expect.objectContaining({
        rpc: 'OrderService/BatchRegisterOrders',
        role: 'facade',
        code: 'ok',
        items: 1,
        failed_items: 0,
        merchant_id: merchantId,
        order_id: result?.case === 'response' ? result.value.order?.orderId : 'none',
      }),
    ]);
    expect(lines('two-on-a-stream')).toEqual([expect.objectContaining({ items: 2, failed_items: 0 })]);
    expect(lines('not usable')).toEqual([]);
    const later = await openedStream();
    later.send({ batchId: 1, requestId: 'after-the-stream', batch: reading('unknown') });
    await later.next();
    later.end();
    await waitUntil('a later line is there', () => lines('after-the-stream').length > 0);
    expect(stack.cores[0]!.log.filter(({ rpc }) => rpc === 'OrderService/StreamOrderBatches')).toEqual([]);
  });

  test('accepts at most 64 batches at a time, and leaves the others unread', async () => {
    const [stream, other] = await Promise.all([openedStream(), openedStream()]);
    const held = await holdRegistrations(stack.databaseUrl);
    // Core writes three statements at a time, so most batches wait in its queue and none is answered.
    for (let batchId = 1; batchId <= 72; batchId += 1) stream.send({ batchId, batch: registering(order()) });
    // Only the 64 earlier batches hold it back: it is a read, which a block of registrations does not delay.
    stream.send({ batchId: 73, batch: reading('unknown') });
    await held.untilWaiting();
    // By then, core would have read and answered it too.
    for (let batchId = 1; batchId <= 20; batchId += 1) {
      other.send({ batchId, batch: reading('unknown') });
      expect(await other.next()).toMatchObject({ batchId });
    }
    await held.release();

    const answered: number[] = [];
    while (answered.length < 73) answered.push((await stream.next()).batchId);
    expect(answered.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 73 }, (_, index) => index + 1));
    // The order of the answers, because core refuses a registration that waits too long, and then reads the next batch.
    expect(answered.indexOf(73)).toBeGreaterThanOrEqual(73 - 64);
    stream.end();
    other.end();
  });

  test('ends when its core stops: batches in progress are answered, and the caller is sent to another core', async () => {
    const core = await stack.startCore();
    const transport = connectGrpcTransport({
      baseUrl: `http://${String(core.ready['connect'])}`,
      interceptors: [
        (next) => (request) => {
          request.header.set('authorization', `Bearer ${stack.tokens.facade}`);
          return next(request);
        },
      ],
    });
    const ours = createGrpcTransport({ addresses: [String(core.ready['grpc'])], token: stack.tokens.facade });
    const streams = [transport, ours].map((each) => openStream(createClient(OrderService, each)));
    const held = await holdRegistrations(stack.databaseUrl);
    for (const [index, stream] of streams.entries()) {
      await stream.next();
      stream.send({ batchId: 1, batch: registering(order()) });
      await held.untilWaiting(index + 1);
    }

    const exitCode = core.stop();
    await waitUntil('it is stopping', () => core.log.some(({ msg }) => msg === 'stopping'));
    await held.release();
    for (const stream of streams) {
      expect(await stream.next()).toMatchObject({ batchId: 1, outcome: { case: 'registerOrders' } });
      const failure: unknown = await stream.responses.next().catch((error: unknown) => error);
      expect(describeFailure(ConnectError.from(failure))).toMatchObject({ reason: 'SERVER_DRAINING' });
    }
    ours.close();
    expect(await exitCode).toBe(0);
  });

  test('fails as a whole while its core has no database, and a call of the batch is answered by another core', async () => {
    const url = new URL(stack.databaseUrl);
    const proxy = await startCuttingProxy({ host: url.hostname, port: Number(url.port) });
    url.host = `127.0.0.1:${proxy.port}`;
    const core = await stack.startCore({ GATEHOUSE_DATABASE_URL: url.href });
    const clientOf = (...addresses: readonly string[]) => {
      const transport = createGrpcTransport({ addresses, token: stack.tokens.facade });
      return { orders: createClient(OrderService, transport), close: transport.close };
    };
    const [one, both] = [
      clientOf(String(core.ready['grpc'])),
      clientOf(String(core.ready['grpc']), ...stack.addresses),
    ];
    const stream = openStream(one.orders);
    await stream.next();

    await proxy.close();
    await waitUntil('the batch fails', async () => {
      stream.send({ batchId: 1, batch: registering(order()) });
      const { outcome } = await stream.next();
      return outcome.case === 'error' && reasonOf(fromStatus(outcome.value)) === 'DATABASE_UNAVAILABLE';
    });

    for (let calls = 0; calls < 4; calls += 1)
      expect(await both.orders.batchRegisterOrders({ requests: [order()] })).toMatchObject({
        results: [{ result: { case: 'response' } }],
      });
    stream.end();
    for (const { close } of [one, both]) close();
  });

  test('answers a client that shares no code with Gatehouse', async () => {
    const client = plainGrpcClient(stack.addresses[0]!, stack.tokens.facade);
    const order_number = newOrderNumber();
    const plain = { merchant_id: merchantId, environment: 'ENVIRONMENT_SANDBOX', order_number };
    const responses = await client.exchange('gatehouse.v1.OrderService', 'StreamOrderBatches', [
      { batch_id: 5, get_orders: { requests: [plain] } },
    ]);
    client.close();
    expect(responses).toMatchObject([
      { batch_id: 0 },
      { batch_id: 5, outcome: 'get_orders', get_orders: { results: [{ result: 'error' }] } },
    ]);
  });

  test('buf curl exchanges batches on the Connect port', async () => {
    const order_number = newOrderNumber();
    const read = { merchant_id: merchantId, environment: 'ENVIRONMENT_SANDBOX', order_number };
    const { stdout, stderr } = await bufCurl([
      ...['--http2-prior-knowledge', '--protocol', 'grpc', '--reflect-header', '*'],
      ...['-H', `authorization: Bearer ${stack.tokens.facade}`],
      ...['-d', JSON.stringify({ batch_id: 5, get_orders: { requests: [read] } })],
      `${stack.connectUrl}/gatehouse.v1.OrderService/StreamOrderBatches`,
    ]);
    expect({ stdout, stderr }).toMatchObject({ stdout: expect.stringContaining('"batchId": 5'), stderr: '' });
    expect(stdout).toContain('ORDER_NOT_FOUND');
  });
});
