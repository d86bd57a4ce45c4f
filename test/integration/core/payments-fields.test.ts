import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { publicId } from '../../support/ids.ts';
import { Environment, PaymentOption } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPaymentStatus } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { failureOf } from '../../support/rpc-failure.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { openPaymentDesk, outcomes } from './payment-desk.ts';
import type { PaymentDesk } from './payment-desk.ts';

let stack: Stack;
let desk: PaymentDesk;

beforeAll(async () => {
  stack = await startStack({ facades: 0 });
  desk = await openPaymentDesk(stack);
});
afterAll(async () => {
  await desk.close();
  await stack.stop();
});

const uuid = '01900000-0000-7000-8000-000000000000';
const unknownIds = {
  merchantId: publicId('mer', uuid),
  paymentAttemptId: publicId('pat', uuid),
};
const issuesOf = async (call: Promise<unknown>): Promise<string[]> => {
  const failure = await failureOf(call);
  expect(failure).toMatchObject({ code: 'InvalidArgument', reason: 'INVALID_FIELDS' });
  return Object.keys(failure.issues).sort();
};

describe('all that is wrong is told at once', () => {
  test('when attempts are leased', async () => {
    const wrong = {
      environment: 7 as Environment,
      paymentOptions: [],
      maxAttempts: 101,
      lease: { seconds: 301n },
      exceptMerchantIds: [unknownIds.merchantId, unknownIds.paymentAttemptId],
    };

    expect(await issuesOf(desk.payments.leasePaymentAttempts(wrong))).toEqual([
      'environment',
      'except_merchant_ids',
      'lease',
      'max_attempts',
      'payment_options',
    ]);
  });

  test('when reversals are leased', async () => {
    expect(await issuesOf(stack.client(StrayPaymentService, 'wallets').leaseReversals({}))).toEqual([
      'environment',
      'lease',
      'max_reversals',
      'payment_options',
    ]);
  });

  test('when an outcome is recorded', async () => {
    expect(await issuesOf(desk.payments.recordPaymentOutcome({}))).toEqual([
      'lease_id',
      'merchant_id',
      'outcome',
      'payment_attempt_id',
    ]);
  });
});

test('more than a hundred merchants to leave out are refused', async () => {
  const request = {
    environment: Environment.SANDBOX,
    paymentOptions: [PaymentOption.WALLETA_USSD],
    maxAttempts: 1,
    lease: { seconds: 60n },
    exceptMerchantIds: Array.from({ length: 101 }, () => unknownIds.merchantId),
  };

  expect(await issuesOf(desk.payments.leasePaymentAttempts(request))).toEqual(['except_merchant_ids']);
});

describe.each([0n, 4n, -1n, 301n, 2n ** 62n])('a lease of %s s', (seconds) => {
  test('is refused', async () => {
    const request = {
      environment: Environment.SANDBOX,
      paymentOptions: [PaymentOption.WALLETA_USSD],
      maxAttempts: 1,
      lease: { seconds },
    };
    expect(await issuesOf(desk.payments.leasePaymentAttempts(request))).toEqual(['lease']);
  });
});

test.each([-1, 0, 101])('%s attempts at once are refused', async (maxAttempts) => {
  const request = {
    environment: Environment.SANDBOX,
    paymentOptions: [PaymentOption.WALLETA_USSD],
    maxAttempts,
    lease: { seconds: 60n },
  };
  expect(await issuesOf(desk.payments.leasePaymentAttempts(request))).toEqual(['max_attempts']);
});

test.each([
  ['a reason that is no word of ours', outcomes.declined('because'), 'declined.reason'],
  ['money without a transaction', outcomes.completed(''), 'completed.provider_transaction_id'],
])('%s is refused', async (_name, outcome, field) => {
  const request = { ...unknownIds, leaseId: '1', outcome };
  expect(await issuesOf(desk.payments.recordPaymentOutcome(request))).toEqual([field]);
});

describe('an attempt that does not exist', () => {
  test.each([
    [
      'record',
      () => desk.payments.recordPaymentOutcome({ ...unknownIds, leaseId: '1', outcome: outcomes.timedOut() }),
    ],
    ['hasten', () => desk.payments.hastenPaymentAttempt(unknownIds)],
    ['get', () => desk.payments.getPaymentAttempt(unknownIds)],
  ])('%s: NOT_FOUND', async (_name, call) => {
    expect(await failureOf(call())).toMatchObject({ code: 'NotFound', reason: 'PAYMENT_ATTEMPT_NOT_FOUND' });
  });
});

test('another merchant’s attempt is not found under one’s own name', async () => {
  const [owner, other] = await Promise.all([stack.createMerchant(), stack.createMerchant()]);
  const { attemptId } = await desk.startDirect({ merchantId: owner.id });
  const key = { merchantId: other.id, paymentAttemptId: attemptId };
  const [leased] = await desk.lease();

  const calls = [
    desk.payments.getPaymentAttempt(key),
    desk.payments.hastenPaymentAttempt(key),
    desk.payments.recordPaymentOutcome({
      ...key,
      leaseId: leased?.leaseId ?? '',
      outcome: outcomes.completed('t'),
    }),
  ];

  const reasons = (await Promise.all(calls.map(failureOf))).map(({ reason }) => reason);
  expect(reasons).toEqual(calls.map(() => 'PAYMENT_ATTEMPT_NOT_FOUND'));
});

test('lists refuse what they do not know, all at once', async () => {
  const reader = stack.client(PaymentAttemptService, 'reader');
  const wrongList = { statuses: [99 as PaymentAttemptStatus], pageSize: -1, pageToken: 'x' };
  expect(await issuesOf(reader.listPaymentAttempts(wrongList))).toEqual([
    'environment',
    'merchant_id',
    'page_size',
    'page_token',
    'statuses',
  ]);
  const wrongStrays = {
    merchantId: 'mer',
    statuses: [99 as StrayPaymentStatus],
    pageSize: -1,
    pageToken: 'x',
  };
  expect(await issuesOf(desk.strayPayments.listStrayPayments(wrongStrays))).toEqual([
    'merchant_id',
    'page_size',
    'page_token',
    'statuses',
  ]);
});

test('a merchant’s attempts are listed newest first, page by page, without a gap', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const started: string[] = [];
  for (let index = 0; index < 5; index += 1)
    started.unshift((await desk.startDirect({ merchantId, orderNumber: `P-${index}` })).attemptId);
  const reader = stack.client(PaymentAttemptService, 'reader');
  const listed: string[] = [];
  let pageToken = '';
  do {
    const page = await reader.listPaymentAttempts({
      merchantId,
      environment: Environment.SANDBOX,
      pageSize: 2,
      pageToken,
    });
    listed.push(...page.paymentAttempts.map(({ paymentAttemptId }) => paymentAttemptId));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');

  expect(listed).toEqual(started);
});
