import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, createServiceImplSpec } from '@connectrpc/connect';
import type { HandlerContext } from '@connectrpc/connect';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import {
  BatchGetOrdersRequestSchema,
  OrderService,
  StreamOrderBatchesResponseSchema,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type {
  StreamOrderBatchesRequest,
  StreamOrderBatchesResponse,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { createOrderStreams } from '../../../src/rest-facade/order-streams.ts';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { startGrpcServer } from '../../../src/platform/rpc/grpc-server.ts';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { toStatus } from '../../../src/platform/rpc/rpc-error.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

const cleanUps = closersOfEachTest();

type Stream = (
  requests: AsyncIterable<StreamOrderBatchesRequest>,
  context: HandlerContext,
) => AsyncGenerator<StreamOrderBatchesResponse>;

const opened = create(StreamOrderBatchesResponseSchema);
/** The number of the batch, in the form of an order's, so that the test can recognise it. */
const answerTo = ({ batchId, requestId }: StreamOrderBatchesRequest): StreamOrderBatchesResponse =>
  create(StreamOrderBatchesResponseSchema, {
    batchId,
    outcome: {
      case: 'getOrders',
      value: { results: [{ result: { case: 'error', value: { message: requestId } } }] },
    },
  });

/** A facade's streams to a core over TCP that the test plays. It counts what happens to its streams. */
async function streamsTo(
  stream: Stream | undefined,
  options: { addresses?: string[]; lifetimeMs?: number } = {},
) {
  const seen = { opened: 0, over: 0 };
  const logger = pino({ level: 'silent' });
  const log: Record<string, unknown>[] = [];
  const counted: Stream = async function* (requests, context) {
    seen.opened += 1;
    context.signal.addEventListener('abort', () => (seen.over += 1));
    yield* stream!(requests, context);
  };
  const server = await startGrpcServer({
    host: '127.0.0.1',
    port: 0,
    services: [
      createServiceImplSpec<typeof OrderService>(
        OrderService,
        stream === undefined ? {} : { streamOrderBatches: counted },
      ),
    ],
    logger,
  });
  cleanUps.push(() => server.stop(1_000));
  const transport = createGrpcTransport({ addresses: [server.address], token: 'any' });
  cleanUps.push(() => transport.close());
  const streams = createOrderStreams({
    orders: createClient(OrderService, transport),
    addresses: [server.address],
    logger: pino(
      { level: 'info' },
      { write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    ...options,
  });
  cleanUps.push(() => streams.close());
  const send = (requestId: string, timeoutMs = 20_000) =>
    streams.send(
      {
        case: 'getOrders',
        value: create(BatchGetOrdersRequestSchema, { requests: [{ merchantId: requestId }] }),
      },
      { timeoutMs, requestId },
    );
  const untilOpen = () =>
    waitUntil('streams are open', () => log.some(({ msg }) => msg === 'streams to core are open'));
  return { streams, send, seen, log, untilOpen, server };
}

const nameIn = (outcome: StreamOrderBatchesResponse['outcome'] | undefined): string | undefined => {
  const result = outcome?.case === 'getOrders' ? outcome.value.results[0]?.result : undefined;
  return result?.case === 'error' ? result.value.message : undefined;
};

const answerAll: Stream = async function* (requests) {
  yield opened;
  for await (const request of requests) yield answerTo(request);
};

describe('batches over streams', () => {
  test('are answered in any sequence, each with its own answer of core', async () => {
    const inPairsBackwards: Stream = async function* (requests) {
      yield opened;
      let first: StreamOrderBatchesRequest | undefined;
      for await (const request of requests) {
        if (first === undefined) first = request;
        else {
          yield answerTo(request);
          yield answerTo(first);
          first = undefined;
        }
      }
    };
    const { send, untilOpen } = await streamsTo(inPairsBackwards);
    await untilOpen();

    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const outcomes = await Promise.all(names.map((name) => send(name)));

    expect(outcomes.map(nameIn)).toEqual(names);
  });

  test('state how long their sender waits', async () => {
    const timeouts: unknown[] = [];
    const { send, untilOpen } = await streamsTo(async function* (requests) {
      yield opened;
      for await (const request of requests) {
        timeouts.push(request.timeout);
        yield answerTo(request);
      }
    });
    await untilOpen();
    await send('a', 1_500);
    expect(timeouts).toMatchObject([{ seconds: 1n, nanos: 500_000_000 }]);
  });

  test('are distributed over the open streams', async () => {
    const used = new Set<AsyncIterable<StreamOrderBatchesRequest>>();
    const { send, seen, untilOpen } = await streamsTo(
      async function* (requests) {
        yield opened;
        for await (const request of requests) {
          used.add(requests);
          yield answerTo(request);
        }
      },
      { addresses: ['10.0.0.1:1', '10.0.0.2:1', '10.0.0.3:1'] },
    );
    await untilOpen();
    await waitUntil('all are open', () => seen.opened === 3);
    await waitUntil('all were used', async () => nameIn(await send('a')) === 'a' && used.size === 3);
  });

  test.each([
    [['127.0.0.1:1'], 2],
    [['127.0.0.1:1', '[::1]:1', '10.0.0.1:1'], 3],
    [['dns:///cores:50051'], 12],
    [['cores:50051'], 12],
  ])('to %j use %i streams', async (addresses, count) => {
    const { seen } = await streamsTo(answerAll, { addresses });
    await waitUntil('all are open', () => seen.opened >= count);
    expect(seen.opened).toBe(count);
  });

  test('fail together with the reason of core', async () => {
    const { send, untilOpen } = await streamsTo(async function* (requests) {
      yield opened;
      for await (const { batchId } of requests)
        yield create(StreamOrderBatchesResponseSchema, {
          batchId,
          outcome: { case: 'error', value: toStatus(rpcError('OVERLOADED', 'not now')) },
        });
    });
    await untilOpen();
    expect(await failureOf(send('a'))).toMatchObject({ reason: 'OVERLOADED' });
  });

  test('use no stream to a core without that method, which is logged once', async () => {
    const { send, log } = await streamsTo(undefined);
    await waitUntil('it is said', () => log.length > 0);
    expect(await send('a')).toBeUndefined();
    expect(log).toMatchObject([
      { level: 40, msg: 'no stream to core is open; batches are sent as single calls until one opens' },
    ]);
  });

  test('are not sent on a stream before core has opened it', async () => {
    const { send, seen } = await streamsTo(async function* (_requests, context) {
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      yield opened;
    });
    await waitUntil('core was asked', () => seen.opened === 2);
    expect(await send('a')).toBeUndefined();
  });

  test('are returned when their stream ends without an answer, and the next batches use a new stream', async () => {
    let streams = 0;
    const { send, untilOpen } = await streamsTo(async function* (requests) {
      streams += 1;
      yield opened;
      for await (const request of requests) {
        if (streams <= 2) throw new ConnectError('stopping', Code.Unavailable);
        yield answerTo(request);
      }
    });
    await untilOpen();
    expect(await send('a')).toBeUndefined();
    await waitUntil('a stream answers', async () => nameIn(await send('b')) === 'b');
  });

  test('fail when core hangs, and its stream is replaced', async () => {
    let streams = 0;
    const { send, seen, untilOpen } = await streamsTo(async function* (requests) {
      streams += 1;
      const hangs = streams <= 2;
      yield opened;
      for await (const request of requests) if (!hangs) yield answerTo(request);
    });
    await untilOpen();
    await waitUntil('both are open', () => seen.opened === 2);

    const [first, second] = await Promise.all([failureOf(send('a', 50)), failureOf(send('b', 50))]);
    expect([first, second]).toMatchObject([{ code: 'DeadlineExceeded' }, { code: 'DeadlineExceeded' }]);
    await waitUntil('core was left', () => seen.over === 2);
    await waitUntil('a new stream answers', async () => nameIn(await send('c')) === 'c');
  });

  test('are not lost while streams are replaced', async () => {
    const { send, seen, untilOpen } = await streamsTo(answerAll, { lifetimeMs: 20 });
    await untilOpen();
    let sent = 0;
    while (seen.opened < 12) {
      const names = Array.from({ length: 10 }, () => `n${(sent += 1)}`);
      const outcomes = await Promise.all(names.map((name) => send(name)));
      expect(outcomes.map(nameIn)).toEqual(names);
    }
    await waitUntil('old ones are over', () => seen.over >= 10);
  });

  test('in flight are answered when their sender closes, and no more are accepted afterwards', async () => {
    const waiting: StreamOrderBatchesRequest[] = [];
    const answer = Promise.withResolvers<undefined>();
    const { streams, send, seen, untilOpen } = await streamsTo(async function* (requests) {
      yield opened;
      for await (const request of requests) {
        waiting.push(request);
        await answer.promise;
        yield answerTo(request);
      }
    });
    await untilOpen();
    const underWay = send('a');
    await waitUntil('core has it', () => waiting.length === 1);

    const closed = streams.close();
    expect(await send('b')).toBeUndefined();
    answer.resolve(undefined);
    expect(nameIn(await underWay)).toBe('a');
    await closed;
    await waitUntil('streams are over', () => seen.over === seen.opened);
  });
});

test('a core that refuses streams is asked again after a pause, not at once', async () => {
  const openedAt: number[] = [];
  await streamsTo(async function* () {
    openedAt.push(performance.now());
    yield await Promise.reject<StreamOrderBatchesResponse>(rpcError('OVERLOADED', 'not now'));
  });

  await waitUntil('five streams were refused', () => openedAt.length >= 5);

  // Two streams are kept open. One of them is refused for the third time by then, so it has paused twice for 250 ms.
  expect(openedAt[4]! - openedAt[0]!).toBeGreaterThan(450);
});
