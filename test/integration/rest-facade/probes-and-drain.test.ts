import { Code, ConnectError } from '@connectrpc/connect';
import type { HandlerContext } from '@connectrpc/connect';
import { afterEach, describe, expect, test } from '@jest/globals';
import { OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '../../../src/gen/health/v1/health_pb.js';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { directPath, directPayment, registration } from '../../e2e/merchant-api-harness.ts';
import { post, send, startFacadeOverRpc } from './facade-over-rpc.ts';
import type { Answer, FacadeOverRpc } from './facade-over-rpc.ts';
import { postJson } from '../../support/post-json.ts';

let facade: FacadeOverRpc | undefined;
afterEach(async () => {
  await facade?.close();
  facade = undefined;
});

const isListening = (url: string): Promise<boolean> =>
  send(`${url}/healthz`).then(
    () => true,
    () => false,
  );

const paymentStarted = {
  order: { status: OrderStatus.PENDING },
  paymentAttempt: { status: PaymentAttemptStatus.SENT },
};
const serving = { check: () => ({ status: ServingStatus.SERVING }) };

describe('readyz', () => {
  test('answers 200 while core serves', async () => {
    facade = await startFacadeOverRpc({ health: serving });
    expect(await send(`${facade.url}/readyz`)).toMatchObject({ status: 200, json: { status: 'ready' } });
  });

  test.each([
    ['is not serving', () => ({ status: ServingStatus.NOT_SERVING })],
    [
      'cannot be reached',
      (): never => {
        throw new ConnectError('gone', Code.Unavailable);
      },
    ],
  ])('answers 503 while core %s, and healthz answers 200 all the same', async (_name, check) => {
    facade = await startFacadeOverRpc({ health: { check } });
    expect(await send(`${facade.url}/readyz`)).toMatchObject({
      status: 503,
      json: { code: 503, message: 'Core is not ready' },
    });
    expect(await send(`${facade.url}/healthz`)).toMatchObject({ status: 200, json: { status: 'ok' } });
  });

  test.each([
    ['the token of the facade', 'INVALID_SERVICE_TOKEN', ''],
    ['its role', 'ROLE_NOT_ALLOWED', 'facade'],
  ] as const)(
    'answers 503 while core refuses %s, and says so once in the log',
    async (_name, reason, role) => {
      const refuse = (_request: unknown, { requestHeader }: HandlerContext) => {
        if (requestHeader.get('x-gatehouse-role')?.includes(role))
          throw rpcError(reason, 'send a token this server knows');
        return { status: ServingStatus.SERVING };
      };
      let nowMs = 0;
      facade = await startFacadeOverRpc({ health: { check: refuse } }, { nowMs: () => (nowMs += 1_000) });
      const probed = [await send(`${facade.url}/readyz`), await send(`${facade.url}/readyz`)];

      const message = 'Core refuses the service token or the certificate of this process';
      expect(probed).toMatchObject([
        { status: 503, json: { code: 503, message } },
        { status: 503, json: { code: 503, message } },
      ]);
      expect(facade.log.filter(({ msg }) => msg === `not ready: ${message}`)).toMatchObject([
        { level: 40, err: { message: expect.stringContaining('send a token this server knows') } },
      ]);
    },
  );

  test('makes one call to core for many probes of half a second', async () => {
    let calls = 0;
    let nowMs = 0;
    const check = () => {
      calls++;
      return { status: ServingStatus.SERVING };
    };
    facade = await startFacadeOverRpc({ health: { check } }, { nowMs: () => nowMs });
    const { url } = facade;
    await Promise.all(Array.from({ length: 20 }, () => send(`${url}/readyz`)));
    nowMs = 499;
    await send(`${url}/readyz`);
    expect(calls).toBe(1);

    nowMs = 500;
    await send(`${url}/readyz`);
    expect(calls).toBe(2);
  });
});

describe('while draining', () => {
  test('readyz answers 503, other requests are served, and no connection is kept', async () => {
    facade = await startFacadeOverRpc({
      health: serving,
      orders: { startDirectPayment: () => paymentStarted },
    });
    facade.drain.abort();
    const ready = await send(`${facade.url}/readyz`);
    const paid = await post(`${facade.url}${directPath}`, directPayment());

    expect(ready).toMatchObject({ status: 503, json: { code: 503, message: 'Shutting down' } });
    expect(paid.status).toBe(201);
    expect([ready, paid].map(({ headers }) => headers.get('connection'))).toEqual(['close', 'close']);
  });

  test('closing waits for the request in progress and ends its connection', async () => {
    const { promise: atCore, resolve: reachedCore } = Promise.withResolvers<undefined>();
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<undefined>();
    const started = await startFacadeOverRpc({
      orders: {
        startDirectPayment: async () => {
          reachedCore(undefined);
          await mayAnswer;
          return paymentStarted;
        },
      },
    });
    const request: Promise<Answer> = post(`${started.url}${directPath}`, directPayment());
    await atCore;
    const closed = started.close();
    await waitUntil('the listener is closed', async () => !(await isListening(started.url)));
    answer(undefined);

    const { status, headers } = await request;
    expect(status).toBe(201);
    expect(headers.get('connection')).toBe('close');
    await closed;
  });
});

test('the write of a client that disconnects is completed, and the log has a line', async () => {
  const { promise: atCore, resolve: reachedCore } = Promise.withResolvers<AbortSignal>();
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<undefined>();
  facade = await startFacadeOverRpc({
    orders: {
      registerOrder: async (_request, { signal }) => {
        reachedCore(signal);
        await mayAnswer;
        return { checkoutUrl: 'https://checkout.example/c/1' };
      },
    },
  });
  const { url, log } = facade;
  const client = new AbortController();
  const request = postJson(`${url}/api/v1/register`, registration(), { apiKey: 'k' }, client.signal);
  const signal = await atCore;
  client.abort();
  await expect(request).rejects.toThrow();
  await waitUntil('the log says so', () => log.some((line) => line['client_gone'] === true));

  expect(signal.aborted).toBe(false);
  answer(undefined);
});
