import { expect, test } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RefundSchema, RefundStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { refundToJson } from '../../../src/merchant-api/refund-json.ts';

const refund = (status: RefundStatus) =>
  create(RefundSchema, {
    refundId: 'rfd_01jd4s1k7w9q3m5x8b2n6c0v4z',
    merchantId: 'mer_01jd2x8m5vf7e8r0c3q6t9w1yc',
    refundNumber: 'RET-2025-0007',
    orderId: 'ord_01jd2x8m5vf7e8r0c3q6t9w1yb',
    orderNumber: 'INV-2025-0042',
    status,
    amount: '40.50',
    currency: 'ETB',
    reason: 'One book came back',
    createTime: timestampFromDate(new Date('2025-11-21T08:15:00.000Z')),
    updateTime: timestampFromDate(new Date('2025-11-21T08:15:02.731Z')),
    requestedBy: 'dashboard:usr_1',
    providerReference: 'w-1',
    detail: 'ok',
  });

test('a refund has the nine documented fields in their order, and no others', () => {
  expect(JSON.stringify(refundToJson(refund(RefundStatus.COMPLETED)))).toBe(
    '{"refund_id":"rfd_01jd4s1k7w9q3m5x8b2n6c0v4z","refund_number":"RET-2025-0007",' +
      '"order_number":"INV-2025-0042","status":"COMPLETED","amount":"40.50","currency":"ETB",' +
      '"reason":"One book came back","created_timestamp":"2025-11-21T08:15:00.000Z",' +
      '"updated_timestamp":"2025-11-21T08:15:02.731Z"}',
  );
});

test.each([
  [RefundStatus.AWAITING_APPROVAL, 'PENDING'],
  [RefundStatus.REQUESTED, 'PENDING'],
  [RefundStatus.SENT, 'PENDING'],
  [RefundStatus.UNKNOWN, 'PENDING'],
  [RefundStatus.COMPLETED, 'COMPLETED'],
  [RefundStatus.FAILED, 'FAILED'],
])('the status %i is %s for merchants', (status, name) => {
  expect(refundToJson(refund(status)).status).toBe(name);
});

test('a refund without a status or a time is an error', () => {
  expect(() => refundToJson(refund(RefundStatus.UNSPECIFIED))).toThrow(/has no status/);
  expect(() => refundToJson(create(RefundSchema, { status: RefundStatus.SENT }))).toThrow(
    /has no create_time/,
  );
});
