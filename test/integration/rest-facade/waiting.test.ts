import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterEach, describe, expect, test } from '@jest/globals';
import { pushable } from 'it-pushable';
import type { Pushable } from 'it-pushable';
import { OrderSchema, OrderStatus, PaymentType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { createWaitingSlots } from '../../../src/rest-facade/waiting-slots.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { post, startFacadeOverRpc } from './facade-over-rpc.ts';
import type { Answer, FacadeOverRpc } from './facade-over-rpc.ts';

let facade: FacadeOverRpc | undefined;
afterEach(async () => {
  facade?.drain.abort();
  await facade?.close();
  facade = undefined;
});

type Stream = Pushable<{ orderIds: string[] }>;

/** A core with orders of the test, whose streams of ended orders the test writes. */
function scriptedCore() {
  const statuses = new Map<string, OrderStatus>();
  const streams: Stream[] = [];
  /** `failures` is the number of readings that fail from now on. */
  const seen = { reads: 0, failures: 0, orderNumbers: new Set<string>() };
  const openStream = (): Stream => {
    const stream: Stream = pushable({ objectMode: true });
    streams.push(stream);
    return stream;
  };
  const statusOf = (orderNumber: string) => statuses.get(orderNumber) ?? OrderStatus.PENDING;
  return {
    statuses,
    streams,
    seen,
    services: {
      orders: {
        getOrder: ({ key }: { key: { value?: string | undefined } }) => {
          seen.reads += 1;
          if (seen.failures > 0) {
            seen.failures -= 1;
            throw new ConnectError('the database is away', Code.Unavailable);
          }
          const orderNumber = (key.value ?? '').replace('ord_', '');
          seen.orderNumbers.add(orderNumber);
          return { order: orderOf(orderNumber, statusOf(orderNumber)) };
        },
        batchGetOrders: ({ requests }: { requests: { key: { value?: string | undefined } }[] }) => {
          seen.reads += requests.length;
          const results = requests.map(({ key }) => {
            const orderNumber = (key.value ?? '').replace('ord_', '');
            const order = orderOf(orderNumber, statusOf(orderNumber));
            return { result: { case: 'response' as const, value: { order } } };
          });
          return { results };
        },
        async *watchEndedOrders() {
          yield* openStream();
        },
      },
    },
  };
}

/** Waits until the facade follows the first stream of this core: it has read the order, and again when the stream was open. */
async function followed({ streams, seen }: ReturnType<typeof scriptedCore>): Promise<void> {
  await waitUntil('the first stream', () => streams.length === 1 && seen.reads === 1);
  streams[0]?.push({ orderIds: [] });
  await waitUntil('the order was read again', () => seen.reads === 2);
}

const orderOf = (orderNumber: string, status: OrderStatus) =>
  create(OrderSchema, {
    orderId: `ord_${orderNumber}`,
    merchantId: 'mer_1',
    orderNumber,
    status,
    paymentType: PaymentType.API,
    createTime: timestampFromMs(0),
    updateTime: timestampFromMs(0),
  });

const verify = ({ url }: FacadeOverRpc, orderNumber: string, prefer = 'wait=30'): Promise<Answer> =>
  post(`${url}/api/v1/verify`, { order_number: orderNumber }, { prefer });

/** Not by `fetch`, which keeps the body that it sends. */
async function statusOfWait(url: string, body: object): Promise<number | undefined> {
  const headers = { apiKey: 'svc_live_1', 'content-type': 'application/json', prefer: 'wait=30' };
  const sent = request(`${url}/api/v1/verify`, { method: 'POST', headers, agent: false }).end(
    JSON.stringify(body),
  );
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

function exposedGarbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

function memoryInUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const statusIn = ({ json }: Answer): unknown => (json as { data?: { status: unknown } }).data?.status;

describe('a request that waits', () => {
  test('is answered when its order ends, and waiting requests share one stream instead of polling', async () => {
    const core = scriptedCore();
    facade = await startFacadeOverRpc(core.services);
    const started = facade;
    const waiting = ['a', 'b', 'c'].map((orderNumber) => verify(started, orderNumber));
    await waitUntil('all orders were read', () => core.seen.reads === 3);
    core.streams[0]?.push({ orderIds: [] });
    await waitUntil('they were read again when the stream was open', () => core.seen.reads === 6);

    core.statuses.set('b', OrderStatus.COMPLETED);
    core.streams[0]?.push({ orderIds: ['ord_b', 'ord_foreign'] });

    const answer = await waiting[1];
    expect(answer?.status).toBe(200);
    expect(answer?.headers.get('preference-applied')).toBe('wait=30');
    expect(answer === undefined ? '' : statusIn(answer)).toBe('COMPLETED');
    expect(core.seen.reads).toBe(7);
    expect(core.streams).toHaveLength(1);
    started.drain.abort();
    expect((await Promise.all([waiting[0]!, waiting[2]!])).map(statusIn)).toEqual(['PENDING', 'PENDING']);
  });

  test('keeps of its body only what its answer needs', async () => {
    const core = scriptedCore();
    facade = await startFacadeOverRpc(core.services);
    const { url, drain } = facade;
    const collectGarbage = exposedGarbageCollector();
    const large = { x: Array.from({ length: 10_000 }, () => []) };
    const statuses: Promise<number | undefined>[] = [];
    /** The growth of the memory in use by 50 more waiting requests, in bytes. It waits until it is below `bound`. */
    const growthBy = async (fields: object, bound = Infinity): Promise<number> => {
      collectGarbage();
      const before = memoryInUse();
      for (let count = 0; count < 50; count += 1)
        statuses.push(statusOfWait(url, { order_number: `w-${statuses.length}`, ...fields }));
      await waitUntil('their orders were read', () => core.seen.orderNumbers.size === statuses.length);
      // One collection frees only a part of what is no longer used, in a process that has run for long. The requests wait for 30 seconds.
      const freed = (): { readonly growth: number } | false => {
        collectGarbage();
        const growth = memoryInUse() - before;
        return growth < bound && { growth };
      };
      return (await waitUntil('what the requests do not need is freed', freed, 15_000)).growth;
    };
    await growthBy({});

    const ofPlain = await growthBy({});
    // A parsed body has 435 kB, and the excerpt for the request log 12 kB. The client and its sockets are in this process too, and vary by
    // tens of kB.
    await growthBy(large, ofPlain + 50 * 150_000);

    drain.abort();
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
  });

  test('gets 401 when its order ends, if its key was revoked meanwhile', async () => {
    const core = scriptedCore();
    let clockMs = 1_000;
    let isRevoked = false;
    const authenticateApiKey = () => {
      if (isRevoked) throw rpcError('INVALID_API_KEY', 'no such key');
      return { merchantId: 'mer_1', apiKeyId: 'key_1' };
    };
    facade = await startFacadeOverRpc(
      { ...core.services, apiKeys: { authenticateApiKey } },
      { nowMs: () => clockMs },
    );
    const waiting = verify(facade, 'a');
    await waitUntil('the order was read', () => core.seen.reads === 1);
    core.streams[0]?.push({ orderIds: [] });
    await waitUntil('it was read again when the stream was open', () => core.seen.reads === 2);

    isRevoked = true;
    clockMs += 3_001;
    core.statuses.set('a', OrderStatus.COMPLETED);
    core.streams[0]?.push({ orderIds: ['ord_a'] });

    expect((await waiting).status).toBe(401);
  });

  test('is answered with the current order when the time has passed, or when the order has already ended', async () => {
    const core = scriptedCore();
    core.statuses.set('ended', OrderStatus.EXPIRED);
    facade = await startFacadeOverRpc(core.services);

    const [passed, ended, zero, without] = await Promise.all([
      verify(facade, 'pending', 'wait=1'),
      verify(facade, 'ended', 'respond-async, wait=99'),
      verify(facade, 'pending', 'wait=0'),
      verify(facade, 'pending', 'wait=soon'),
    ]);

    expect([passed, ended, zero, without].map(statusIn)).toEqual([
      'PENDING',
      'EXPIRED',
      'PENDING',
      'PENDING',
    ]);
    expect([passed, ended, zero, without].map(({ headers }) => headers.get('preference-applied'))).toEqual([
      'wait=1',
      'wait=30',
      'wait=0',
      null,
    ]);
  });

  test('misses no end of its order while the stream is interrupted or a read fails', async () => {
    const core = scriptedCore();
    facade = await startFacadeOverRpc(core.services);
    const first = verify(facade, 'missed');
    await followed(core);

    core.streams[0]?.end(new ConnectError('killed', Code.Unavailable));
    core.statuses.set('missed', OrderStatus.FAILED);
    await waitUntil('the second stream', () => core.streams.length === 2);
    core.seen.failures = 1;
    core.streams[1]?.push({ orderIds: [] });

    expect(statusIn(await first)).toBe('FAILED');
    expect(core.seen.failures).toBe(0);
  });

  test.each([
    [30, 'stops', rpcError('SERVER_DRAINING', 'this server is stopping; open a stream to another')],
    [40, 'is killed', new ConnectError('killed', Code.Unavailable)],
  ])('logs at level %d that its stream ended because core %s', async (level, _how, ended) => {
    const core = scriptedCore();
    facade = await startFacadeOverRpc(core.services);
    const answered = verify(facade, 'told');
    await followed(core);

    core.streams[0]?.end(ended);
    core.statuses.set('told', OrderStatus.FAILED);
    await waitUntil('the second stream', () => core.streams.length === 2);
    core.streams[1]?.push({ orderIds: [] });

    expect(statusIn(await answered)).toBe('FAILED');
    expect(facade.log.filter(({ msg }) => String(msg).includes('interrupted'))).toMatchObject([{ level }]);
  });

  test('gets its answer at once when the process begins to stop, and its connection is closed', async () => {
    const core = scriptedCore();
    facade = await startFacadeOverRpc(core.services);
    const waiting = verify(facade, 'stopping');
    await waitUntil('it waits', () => core.streams.length === 1);

    facade.drain.abort();

    const answer = await waiting;
    expect(statusIn(answer)).toBe('PENDING');
    expect(answer.headers.get('connection')).toBe('close');
    expect(statusIn(await verify(facade, 'late'))).toBe('PENDING');
  });

  test('occupies a slot until its client disconnects, and one merchant cannot use all slots', async () => {
    const core = scriptedCore();
    facade = await startFacadeOverRpc(core.services, { waitingSlots: createWaitingSlots(3) });
    const { url, log } = facade;
    const client = new AbortController();
    const leaving = fetch(`${url}/api/v1/verify`, {
      method: 'POST',
      signal: client.signal,
      headers: { apiKey: 'k', 'content-type': 'application/json', prefer: 'wait=30' },
      body: JSON.stringify({ order_number: 'leaving' }),
    });
    const staying = verify(facade, 'staying');
    await waitUntil('both wait', () => core.seen.reads === 2 && core.streams.length === 1);

    const refused = await verify(facade, 'refused');
    expect(refused).toMatchObject({
      status: 429,
      json: {
        code: 429,
        message:
          'Too many of your requests wait for orders; verify without waiting, or wait for fewer orders',
      },
    });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await verify(facade, 'plain', 'handling=lenient')).toMatchObject({ status: 200 });

    client.abort();
    await expect(leaving).rejects.toThrow();
    await waitUntil(
      'the place is free',
      async () => (await verify(facade!, 'next', 'wait=1')).status === 200,
    );
    facade.drain.abort();
    expect(statusIn(await staying)).toBe('PENDING');
    expect(log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  test('in the sandbox occupies no slot of the same merchant in production', async () => {
    const waitingSlots = createWaitingSlots(2);
    const core = scriptedCore();
    const sandbox = await startFacadeOverRpc(core.services, { waitingSlots });
    facade = await startFacadeOverRpc(core.services, { waitingSlots, environment: 'production' });
    const waiting = verify(sandbox, 'tested');
    await waitUntil('it waits', () => waitingSlots.taken() === 1);

    const inSandbox = await verify(sandbox, 'refused');
    const inProduction = await verify(facade, 'paid', 'wait=1');

    expect([inSandbox.status, inProduction.status]).toEqual([429, 200]);
    expect(waitingSlots.refused()).toBe(1);
    sandbox.drain.abort();
    await waiting;
    await sandbox.close();
  });

  test('is answered at once with 404 for an unknown order, and with 400 for an invalid body', async () => {
    facade = await startFacadeOverRpc({
      orders: {
        getOrder: () => {
          throw rpcError('ORDER_NOT_FOUND', 'no such order');
        },
      },
    });
    expect((await verify(facade, 'unknown')).status).toBe(404);
    expect((await post(`${facade.url}/api/v1/verify`, {}, { prefer: 'wait=30' })).status).toBe(400);
  });
});
