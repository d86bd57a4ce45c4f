import { create, fromBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import { attemptOf } from '../../../src/core/database/order-rows.ts';
import { attemptColumns, latestParts } from '../../../src/core/payments/changes/lost-order.ts';
import { attemptMessage } from '../../../src/core/rpc/order-messages.ts';
import { OrderEventSchema, PaymentAttemptSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { PaymentAttempt } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { encodeMessage } from '../../../src/platform/rpc/message-bytes.ts';
import { publicId, storedId } from '../../support/ids.ts';

const ids = { order: 'ord_01m7xjy0avewxs5hk9qy0p24h6', account: 'wac_01m7xjbb99evv8hx2dqm5r8qgn' } as const;
const account = storedId('wac', ids.account);
const attemptId = storedId('pat', 'pat_01m7xjbb99evv8hx2dqm5r8qgn');
const row = {
  merchantId: storedId('mer', 'mer_01m7xjbb99evv8hx2dqm5r8qgn'),
  id: attemptId,
  environment: 'SANDBOX',
  orderId: storedId('ord', ids.order),
  status: 'DECLINED',
  origin: 'DIRECT',
  paymentOption: 'walleta_ussd',
  phone: '+251911223344',
  declineReason: 'wrong_pin',
  createdAt: new Date('2026-03-10T12:00:00Z'),
  updatedAt: new Date('2026-03-10T12:00:01Z'),
} as const;

/** The attempt as a reader gets it. */
const read = (over: object): PaymentAttempt => {
  const message = attemptMessage({ id: ids.order }, attemptOf({ ...row, ...over }));
  return fromBinary(PaymentAttemptSchema, encodeMessage(PaymentAttemptSchema, message));
};

describe('the wallet account of a payment in an event', () => {
  test.each([
    ["is the merchant's own", { leases: 1, walletAccountId: account }, ids.account],
    ["is empty for the operator's", { leases: 1, walletAccountId: null }, ''],
    [
      'is known of a payment that a restored gateway found',
      { maybeSent: true, walletAccountId: account },
      ids.account,
    ],
    ['is absent before the first request', { leases: 0, walletAccountId: null }, undefined],
    ['is absent in an event that adds the payment', {}, undefined],
  ])('%s', (_, over, expected) => {
    expect(read(over).walletAccountId).toBe(expected);
  });

  test.each([
    ['own account', ids.account, { walletAccountId: account }],
    ["operator's account", '', { walletAccountId: null }],
  ])('gives a rebuilt payment its %s, even when a later event lacks it', (_, walletAccountId, expected) => {
    const attempt = read({});
    const withAccount = create(PaymentAttemptSchema, { ...attempt, walletAccountId });
    const events = [withAccount, attempt].map((paymentAttempt) =>
      create(OrderEventSchema, { paymentAttempt, occurTime: timestampFromDate(row.updatedAt) }),
    );
    const [rebuilt] = latestParts(events).attempts;

    expect(attemptColumns(rebuilt!.message, 'DIRECT', '')).toMatchObject(expected);
  });

  test('says nothing about a rebuilt payment when no event has it', () => {
    expect(attemptColumns(read({}), 'DIRECT', '')).not.toHaveProperty('walletAccountId');
    expect(read({}).paymentAttemptId).toBe(publicId('pat', attemptId));
  });
});
