import { create } from '@bufbuild/protobuf';
import { ConnectError, Code } from '@connectrpc/connect';
import type { ServiceImpl } from '@connectrpc/connect';
import { describe, expect, test } from '@jest/globals';
import { OrderFact } from '../../../src/gen/gatehouse/v1/order_explanation_pb.js';
import { OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  RegisterOrderResponseSchema,
  RegisterOrderResultSchema,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { errorReasons, rpcError } from '../../../src/contract/error-reason.ts';
import type { ErrorReason } from '../../../src/contract/error-reason.ts';
import { invalidFields } from '../../../src/platform/rpc/rpc-error.ts';
import { refusedKeyHint } from '../../../src/rest-facade/key-hint.ts';
import { directPath, directPayment, registration } from '../../e2e/merchant-api-harness.ts';
import { post, startFacadeOverRpc } from './facade-over-rpc.ts';
import type { Answer } from './facade-over-rpc.ts';
import { shared } from '../../support/shared-stack.ts';

type Orders = ServiceImpl<typeof OrderService>;

/** The behaviour of core in the current test. All tests share one facade. */
let core: Partial<Orders> = {};

const facade = shared(() =>
  startFacadeOverRpc({
    orders: {
      registerOrder: (...call) => core.registerOrder!(...call),
      batchRegisterOrders: (...call) => core.batchRegisterOrders!(...call),
      startDirectPayment: (...call) => core.startDirectPayment!(...call),
      getOrder: (...call) => core.getOrder!(...call),
    },
  }),
);

/** Every method of core fails with this error. */
function failWith(error: ConnectError): void {
  const fail = (): never => {
    throw error;
  };
  core = { registerOrder: fail, startDirectPayment: fail, getOrder: fail };
}

async function answersTo(error: ConnectError): Promise<Record<'register' | 'direct' | 'verify', Answer>> {
  failWith(error);
  const { url } = facade;
  return {
    register: await post(`${url}/api/v1/register`, registration()),
    direct: await post(url + directPath, directPayment()),
    verify: await post(`${url}/api/v1/verify`, { order_number: 'INV-1' }),
  };
}

const internal = {
  register: { code: 500, message: 'Internal server error' },
  direct: { code: 500, message: 'The payment could not be processed' },
  verify: { code: 500, message: 'Internal server error' },
};
const about = (issue: string, field = 'order_number') => {
  const details = [{ field, issue }];
  return {
    register: { code: 400, message: 'Bad request', details },
    direct: { code: 400, message: 'Invalid request parameters', details },
    verify: { code: 400, message: 'Bad request', details },
  };
};
const forbidden = {
  register: { code: 403, message: 'Forbidden' },
  direct: {
    code: 401,
    message: 'API key is invalid or missing',
    details: [{ field: 'apiKey', issue: refusedKeyHint }],
  },
  verify: { code: 403, message: 'Forbidden' },
};
const everywhere = (body: object) => ({ register: body, direct: body, verify: body });

/** Every other reason is an internal error for the merchant. */
const expected: Partial<Record<ErrorReason, { register: object; direct: object; verify: object }>> = {
  INVALID_FIELDS: internal,
  ORDER_NUMBER_TAKEN: about(
    'has been used before, with other values or for an order that has ended; use a new order_number',
  ),
  IDEMPOTENCY_KEY_REUSED: everywhere({
    code: 422,
    message: 'Unprocessable request',
    details: [
      {
        field: 'Idempotency-Key',
        issue: 'was used with another request in the last 24 hours; use a new key for a new request',
      },
    ],
  }),
  PAYMENT_IN_PROGRESS: about('has another payment in progress; wait until it has ended'),
  MONEY_NOT_RETURNED: about(
    'belongs to an order whose earlier payment took money that has not been returned yet; wait until it is returned',
  ),
  ORDER_NOT_PAYABLE: about('belongs to an order that can no longer be paid; use a new order_number'),
  ORDER_NOT_FOUND: everywhere({ code: 404, message: 'Not found' }),
  ORDER_NOT_REFUNDABLE: about('belongs to an order that cannot be refunded'),
  REFUND_NUMBER_TAKEN: about(
    'has been used before, with other values; use a new refund_number',
    'refund_number',
  ),
  REFUND_NOT_FOUND: everywhere({ code: 404, message: 'Not found' }),
  API_KEY_NOT_ALLOWED: everywhere({
    code: 403,
    message:
      'This API key may not refund; give it the scope for refunds in the dashboard, or ask the operator of the gateway',
  }),
  MERCHANT_SUSPENDED: forbidden,
  PRODUCTION_NOT_ACTIVATED: forbidden,
  RECOVERING: everywhere({
    code: 503,
    message: 'The gateway is recovering from a failure; send the same request again later',
  }),
  OVERLOADED: everywhere({ code: 429, message: 'Too many requests' }),
  TOO_MANY_TRIES: everywhere({ code: 429, message: 'Too many requests' }),
  PHONE_BUSY: everywhere({ code: 429, message: 'The phone has another payment to confirm' }),
  PHONE_LIMIT: everywhere({ code: 429, message: 'The phone has been asked to pay too often' }),
};
const isReason = (name: string): name is ErrorReason => Object.hasOwn(errorReasons, name);

describe('the merchant gets the documented answer when core refuses', () => {
  test.each(Object.keys(errorReasons).filter(isReason))('%s', async (reason) => {
    const told = expected[reason] ?? internal;
    const answers = await answersTo(rpcError(reason, 'a secret of core'));

    for (const name of ['register', 'direct', 'verify'] as const) {
      expect(answers[name].json).toEqual(told[name]);
      expect(answers[name].status).toBe(Reflect.get(told[name], 'code'));
      expect(answers[name].headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answers[name].text).not.toContain('secret');
    }
  });

  test.each([
    ['UNAVAILABLE', Code.Unavailable],
    ['DEADLINE_EXCEEDED', Code.DeadlineExceeded],
    ['UNAUTHENTICATED', Code.Unauthenticated],
    ['PERMISSION_DENIED', Code.PermissionDenied],
    ['RESOURCE_EXHAUSTED', Code.ResourceExhausted],
    ['UNIMPLEMENTED', Code.Unimplemented],
    ['NOT_FOUND', Code.NotFound],
    ['INVALID_ARGUMENT', Code.InvalidArgument],
  ])('%s without a reason is an internal error: 500', async (_name, code) => {
    const answers = await answersTo(new ConnectError('a secret of the transport', code));

    for (const name of ['register', 'direct', 'verify'] as const)
      expect(answers[name].json).toEqual(internal[name]);
  });

  test.each([
    ['OVERLOADED', undefined, '1'],
    ['OVERLOADED', 200, '1'],
    ['OVERLOADED', 2_000, '2'],
    ['OVERLOADED', 2_001, '3'],
    ['PHONE_BUSY', 180_000, '180'],
    ['PHONE_LIMIT', 600_000, '600'],
  ] as const)('%s for %s ms has Retry-After %s', async (reason, retryAfterMs, seconds) => {
    const error = rpcError(reason, 'busy', retryAfterMs === undefined ? {} : { retryAfterMs });
    const { register } = await answersTo(error);

    expect(register.headers.get('retry-after')).toBe(seconds);
  });

  test.each(['merchant_id', 'environment'])(
    'a problem with %s, which the facade itself sent, gets 500',
    async (field) => {
      const error = invalidFields([
        { field: 'amount', issue: 'is required' },
        { field, issue: 'is required' },
      ]);
      const answers = await answersTo(error);

      expect(answers.register.json).toEqual(internal.register);
    },
  );

  test('the log has the cause of an internal error, and the answer does not', async () => {
    failWith(rpcError('DATABASE_UNAVAILABLE', 'connection refused by 10.0.0.7'));
    const { json } = await post(`${facade.url}/api/v1/verify`, { order_number: 'INV-1' });

    expect(json).toEqual(internal.verify);
    expect(facade.log.findLast((line) => line['msg'] === 'request')).toMatchObject({
      level: 40,
      status: 500,
      reason: 'DATABASE_UNAVAILABLE',
      error: expect.stringContaining('connection refused by 10.0.0.7'),
    });
  });
});

test('repeats during a recovery have at most twenty lines of their own in a minute', async () => {
  failWith(rpcError('RECOVERING', 'compares with the wallets'));
  const written = facade.log.length;
  for (let repeat = 0; repeat < 23; repeat += 1)
    await post(`${facade.url}/api/v1/verify`, { order_number: 'INV-1' });

  expect(facade.log.slice(written).filter(({ msg }) => msg === 'request').length).toBeLessThanOrEqual(20);
});

test('many explanations without the webhooks process have one line in the log, with the request of the first', async () => {
  const explanation = { waitingFor: OrderFact.NOTHING, orderStatus: OrderStatus.COMPLETED };
  const running = await startFacadeOverRpc({
    orderStories: { explainOrder: () => ({ orderId: 'ord_1', orderNumber: 'INV-1', explanation }) },
  });
  const explain = () => post(`${running.url}/api/v1/explain`, { order_number: 'INV-1' });

  const answers = [await explain(), await explain(), await explain()];
  await running.close();

  expect(answers.map(({ status, text }) => [status, text.includes('webhooks_unknown')])).toEqual(
    Array(3).fill([200, true]),
  );
  const lines = running.log.filter(({ msg }) =>
    String(msg).startsWith('the webhooks process did not answer'),
  );
  expect(lines).toEqual([expect.objectContaining({ request_id: 'request-1', count: 1 })]);
});

describe('all problems at once', () => {
  /** Core's checks of an order number, an amount and a currency. */
  const strictCore = {
    registerOrder: (request: {
      amount: string;
      currency: string;
      orderNumber: string;
      validateOnly: boolean;
    }) => {
      const issues = [];
      if (request.currency !== 'ETB') issues.push({ field: 'currency', issue: 'must be one of ETB' });
      if (request.amount !== '1') issues.push({ field: 'amount', issue: 'is not one' });
      if (request.orderNumber === '') issues.push({ field: 'order_number', issue: 'is required' });
      if (issues.length > 0) throw invalidFields(issues);
      if (!request.validateOnly) throw rpcError('INTERNAL', 'this test should not have registered anything');
      return {};
    },
  };

  test('the facade checks presence and types, core checks the rest, and the details have the sequence of the contract', async () => {
    core = strictCore;
    const { status, json } = await post(`${facade.url}/api/v1/register`, {
      ...registration(),
      order_number: 7,
      webhook_url: null,
      amount: '2',
      currency: 'etb',
      customer_phone: undefined,
    });

    expect(status).toBe(400);
    expect(json).toEqual({
      code: 400,
      message: 'Bad request',
      details: [
        { field: 'order_number', issue: 'must be a string' },
        { field: 'webhook_url', issue: 'must be a string' },
        { field: 'amount', issue: 'is not one' },
        { field: 'currency', issue: 'must be one of ETB' },
        { field: 'customer_phone', issue: 'is required' },
      ],
    });
  });

  test('core checks the requests of one turn in one call', async () => {
    const batches: unknown[] = [];
    core = {
      batchRegisterOrders: ({ requests }) => {
        batches.push(requests);
        const result = { case: 'response', value: create(RegisterOrderResponseSchema) } as const;
        return { results: requests.map(() => create(RegisterOrderResultSchema, { result })) };
      },
    };
    const names = ['a', 'b', 'c'];
    const answers = await Promise.all(
      names.map((order_number) =>
        facade.app.inject({
          method: 'POST',
          url: '/api/v1/register',
          headers: { apikey: 'key' },
          payload: { ...registration(), order_number, amount: 1 },
        }),
      ),
    );

    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400, 400]);
    expect(batches).toMatchObject([names.map((orderNumber) => ({ orderNumber, validateOnly: true }))]);
  });

  test('a value that only the published schema forbids gets 400 in the words of the schema', async () => {
    core = strictCore;
    const { json } = await post(`${facade.url}/api/v1/register`, {
      ...registration(),
      amount: '1',
      webhook_url: '',
      business_name: 'x'.repeat(129),
    });

    expect(json).toMatchObject({
      details: [
        { field: 'webhook_url', issue: 'must not be empty; leave it out when there is none' },
        { field: 'business_name', issue: 'must be at most 128 characters' },
      ],
    });
  });

  test('a body without any field causes no call to core', async () => {
    let calls = 0;
    core = { registerOrder: () => ({ repeated: ++calls < 0 }) };
    await post(`${facade.url}/api/v1/register`, {});
    await post(`${facade.url}/api/v1/register`, '{"order_number":');

    expect(calls).toBe(0);
  });

  test('a lone surrogate is reported at its field, beside the problems of the other fields', async () => {
    core = strictCore;
    const body = JSON.stringify({ ...registration(), amount: '2', reason: 'a\ud800b' });
    const { json } = await post(`${facade.url}/api/v1/register`, body);

    expect(json).toMatchObject({
      details: [
        { field: 'amount', issue: 'is not one' },
        { field: 'reason', issue: 'must be well-formed Unicode, without lone surrogates' },
      ],
    });
  });

  test('a suspended merchant gets 403, not the problems of its request', async () => {
    failWith(rpcError('MERCHANT_SUSPENDED', 'suspended'));
    const { json } = await post(`${facade.url}/api/v1/register`, { ...registration(), amount: 1 });

    expect(json).toEqual({ code: 403, message: 'Forbidden' });
  });
});
