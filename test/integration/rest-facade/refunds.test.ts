import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ConnectError } from '@connectrpc/connect';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { ApiKeyScope } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { Environment, RefundStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type {
  CreateRefundRequest,
  GetRefundRequest,
} from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { invalidFields } from '../../../src/platform/rpc/rpc-error.ts';
import { post, startFacadeOverRpc } from './facade-over-rpc.ts';
import { shared } from '../../support/shared-stack.ts';
import type { ErrorReason } from '../../../src/contract/error-reason.ts';

const refund = {
  refundId: 'rfd_1',
  merchantId: 'mer_1',
  refundNumber: 'RET-1',
  orderNumber: 'INV-1',
  status: RefundStatus.REQUESTED,
  amount: '40.00',
  currency: 'ETB',
  reason: 'Shoes came back',
  createTime: { seconds: 1_763_717_400n, nanos: 123_999_999 },
  updateTime: { seconds: 1_763_717_400n, nanos: 123_999_999 },
};
const shown = {
  refund_id: 'rfd_1',
  refund_number: 'RET-1',
  order_number: 'INV-1',
  status: 'PENDING',
  amount: '40.00',
  currency: 'ETB',
  reason: 'Shoes came back',
  created_timestamp: '2025-11-21T09:30:00.123Z',
  updated_timestamp: '2025-11-21T09:30:00.123Z',
};
const body = { order_number: 'INV-1', refund_number: 'RET-1', amount: '40', reason: 'Shoes came back' };
const paths = ['/api/v1/refund', '/api/v1/refund/verify'];

const created: CreateRefundRequest[] = [];
const read: GetRefundRequest[] = [];
let scopes: ApiKeyScope[];
let failure: ConnectError | undefined;
let status: RefundStatus;

const answered = () => {
  if (failure !== undefined) throw failure;
  return { refund: { ...refund, status } };
};
const facade = shared(() =>
  startFacadeOverRpc({
    apiKeys: {
      authenticateApiKey: ({ apiKey }) => ({ merchantId: 'mer_1', apiKeyId: `key_${apiKey}`, scopes }),
    },
    refunds: {
      createRefund: (request) => {
        created.push(request);
        return request.validateOnly && failure === undefined ? {} : answered();
      },
      getRefund: (request) => {
        read.push(request);
        return answered();
      },
    },
  }),
);

let keys = 0;
beforeEach(() => {
  created.length = 0;
  read.length = 0;
  scopes = [ApiKeyScope.REFUNDS];
  failure = undefined;
  status = RefundStatus.REQUESTED;
  keys += 1;
});
// Answers about keys are cached, so each test has its own key.
const ask = (path: string, content: object | string = body) =>
  post(facade.url + path, content, { apiKey: `svc_test_${keys}` });

test('a refund is created with the merchant and key of the request, and answered with nine fields', async () => {
  const answer = await ask('/api/v1/refund');

  expect(answer).toMatchObject({
    status: 201,
    json: { code: 1, message: 'Refund accepted; the wallet decides it', data: shown },
  });
  expect(Object.keys((answer.json as { data: object }).data)).toEqual(Object.keys(shown));
  expect(created).toMatchObject([
    {
      merchantId: 'mer_1',
      apiKeyId: `key_svc_test_${keys}`,
      environment: Environment.SANDBOX,
      order: { case: 'orderNumber', value: 'INV-1' },
      refundNumber: 'RET-1',
      amount: '40',
      reason: 'Shoes came back',
      validateOnly: false,
    },
  ]);
});

test('without an amount, core refunds the rest', async () => {
  const { amount: _amount, ...rest } = body;

  expect((await ask('/api/v1/refund', rest)).status).toBe(201);
  expect(created).toMatchObject([{ amount: '', validateOnly: false }]);
});

test('a refund has its present status in both answers', async () => {
  status = RefundStatus.FAILED;

  const answers = [await ask('/api/v1/refund'), await ask('/api/v1/refund/verify')];

  expect(answers).toMatchObject([
    { status: 201, json: { code: 1, data: { status: 'FAILED' } } },
    { status: 200, json: { code: 200, message: 'Refund found', data: { ...shown, status: 'FAILED' } } },
  ]);
  expect(read).toMatchObject([
    { merchantId: 'mer_1', environment: Environment.SANDBOX, name: { case: 'refundNumber', value: 'RET-1' } },
  ]);
});

const denied = {
  code: 403,
  message:
    'This API key may not refund; give it the scope for refunds in the dashboard, or ask the operator of the gateway',
};

describe('a key without the scope for refunds', () => {
  test.each(paths)('is told at %s how to get the scope, before the body is read', async (path) => {
    scopes = [];

    expect(await ask(path, '{"not": json')).toMatchObject({ status: 403, json: denied });
    expect([...created, ...read]).toEqual([]);
  });

  test('is told the same when core refuses before this process knows the scope', async () => {
    failure = rpcError('API_KEY_NOT_ALLOWED', 'this API key may not refund');

    expect(await ask('/api/v1/refund')).toMatchObject({ status: 403, json: denied });
  });
});

const issue = (field: string, text: string) => ({ details: [{ field, issue: text }] });
const refused = (reason: ErrorReason, field: string, text: string) =>
  rpcError(reason, 'no', { issues: [{ field, issue: text }] });

test.each([
  [refused('ORDER_NOT_REFUNDABLE', 'order_number', 'is PENDING'), issue('order_number', 'is PENDING')],
  [
    rpcError('ORDER_NOT_REFUNDABLE', 'no'),
    issue('order_number', 'belongs to an order that cannot be refunded'),
  ],
  [refused('REFUND_NUMBER_TAKEN', 'refund_number', 'was used'), issue('refund_number', 'was used')],
  [invalidFields([{ field: 'amount', issue: 'is too much' }]), issue('amount', 'is too much')],
])("core's %s is answered 400", async (error, content) => {
  failure = error;

  expect(await ask('/api/v1/refund')).toMatchObject({ status: 400, json: { code: 400, ...content } });
});

test('a field that only the facade sends, and core refuses, is an internal error', async () => {
  failure = invalidFields([{ field: 'api_key_id', issue: 'is required' }]);

  const json = { code: 500, message: 'Internal server error' };
  expect(await ask('/api/v1/refund')).toMatchObject({ status: 500, json });
});

describe('an invalid request creates nothing, and names all problems at once', () => {
  test.each<[string, object | string, readonly string[]]>([
    ['nothing', {}, ['order_number: is required', 'refund_number: is required', 'reason: is required']],
    ['an amount that is a number', { ...body, amount: 40 }, ['amount: must be a string']],
    [
      'an empty amount',
      { ...body, amount: '' },
      ['amount: must not be empty; leave it out when there is none'],
    ],
    [
      'an order number that is given twice',
      '{"order_number":"INV-1","order_number":"INV-2","refund_number":"RET-1","reason":"x"}',
      ['order_number: must be given only once'],
    ],
  ])('%s', async (_what, content, expected) => {
    const answer = await ask('/api/v1/refund', content);

    expect(answer).toMatchObject({ status: 400, json: { code: 400, message: 'Bad request' } });
    const { details } = answer.json as { details: readonly { field: string; issue: string }[] };
    expect(details.map(({ field, issue: text }) => `${field}: ${text}`)).toEqual(expected);
    expect(created.filter(({ validateOnly }) => !validateOnly)).toEqual([]);
  });

  test("core's message about a field comes before that of the schema", async () => {
    failure = invalidFields([{ field: 'amount', issue: 'must not have an exponent' }]);

    const { json } = await ask('/api/v1/refund', { ...body, amount: '1e3', reason: undefined });

    expect(json).toMatchObject({
      details: [
        { field: 'amount', issue: 'must not have an exponent' },
        { field: 'reason', issue: 'is required' },
      ],
    });
  });

  test('a refund cannot be verified without its number', async () => {
    expect(await ask('/api/v1/refund/verify', {})).toMatchObject({
      status: 400,
      json: issue('refund_number', 'is required'),
    });
    expect(read).toEqual([]);
  });
});
