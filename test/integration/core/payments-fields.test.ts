import { expect, test } from '@jest/globals';
import { publicId } from '../../support/ids.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { StrayPaymentService } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPaymentStatus } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import type { Outcome } from './payment-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);

const uuid = '01900000-0000-7000-8000-000000000000';
const unknownIds = {
  merchantId: publicId('mer', uuid),
  paymentAttemptId: publicId('pat', uuid),
};
const lease = (own: object) =>
  desk.payments.leasePaymentAttempts({
    ...{ environment: Environment.SANDBOX, paymentOptions: ['walleta_ussd'] },
    ...{ maxAttempts: 1, lease: { seconds: 60n } },
    ...own,
  });
const record = (outcome: Outcome) =>
  desk.payments.recordPaymentOutcome({ ...unknownIds, leaseId: '1', outcome });

test('leasing, recording and listing report all invalid fields at once', async () => {
  const { merchantId, paymentAttemptId } = unknownIds;
  const wrongLease = {
    ...{ environment: 7 as Environment, paymentOptions: [], maxAttempts: 101, lease: { seconds: 301n } },
    exceptMerchantIds: [merchantId, paymentAttemptId],
  };
  const page = { pageSize: -1, pageToken: 'x' };
  const wrongList = { ...page, statuses: [99 as PaymentAttemptStatus] };
  const wrongStrays = { ...page, merchantId: 'mer', statuses: [99 as StrayPaymentStatus] };
  const reader = stack.client(PaymentAttemptService, 'reader');

  expect(await wrongFields(lease(wrongLease))).toBe(
    'environment except_merchant_ids lease max_attempts payment_options',
  );
  expect(await wrongFields(stack.client(StrayPaymentService, 'wallets').leaseReversals({}))).toBe(
    'environment lease max_reversals payment_options',
  );
  expect(await wrongFields(desk.payments.recordPaymentOutcome({}))).toBe(
    'lease_id merchant_id outcome payment_attempt_id',
  );
  expect(await wrongFields(reader.listPaymentAttempts(wrongList))).toBe(
    'environment merchant_id page_size page_token statuses',
  );
  expect(await wrongFields(desk.strayPayments.listStrayPayments(wrongStrays))).toBe(
    'merchant_id page_size page_token statuses',
  );
});

test('each limit of a lease and of an outcome is reported at its field', async () => {
  const tooMany = Array.from({ length: 101 }, () => unknownIds.merchantId);
  expect(await wrongFields(lease({ exceptMerchantIds: tooMany }))).toBe('except_merchant_ids');
  for (const seconds of [0n, 4n, -1n, 301n, 2n ** 62n])
    expect(await wrongFields(lease({ lease: { seconds } }))).toBe('lease');
  for (const maxAttempts of [-1, 0, 101])
    expect(await wrongFields(lease({ maxAttempts }))).toBe('max_attempts');
  expect(await wrongFields(record(outcomes.declined('because')))).toBe('declined.reason');
  expect(await wrongFields(record(outcomes.completed('')))).toBe('completed.provider_transaction_id');
});

test('an attempt that does not exist is not found', async () => {
  const calls = [
    record(outcomes.timedOut()),
    desk.payments.hastenPaymentAttempt(unknownIds),
    desk.payments.getPaymentAttempt(unknownIds),
  ];
  for (const failure of await Promise.all(calls.map(failureOf)))
    expect(failure).toMatchObject({ code: 'NotFound', reason: 'PAYMENT_ATTEMPT_NOT_FOUND' });
});

test('another merchant’s attempt is not found under the own merchant id', async () => {
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
