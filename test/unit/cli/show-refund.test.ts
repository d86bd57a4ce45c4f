import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { describeRefund, showRefundsOf } from '../../../src/cli/show-refund.ts';
import { OrderSchema, RefundSchema, RefundStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';

test('the refunds of an order end with the command that lists all of them, if there are more', () => {
  const order = create(OrderSchema, { orderId: 'ord_1', merchantId: 'mer_1' });
  const refund = create(RefundSchema, {
    refundId: 'rfd_1',
    refundNumber: 'R-1',
    orderNumber: 'A-1',
    status: RefundStatus.COMPLETED,
    amount: '1.00',
    currency: 'ETB',
  });

  const all = showRefundsOf(order, { latest: [refund], hasMore: false }, 100);
  const some = showRefundsOf(order, { latest: [refund], hasMore: true }, 100);

  expect(all).toContain('R-1');
  expect(all).not.toContain('A-1');
  expect(all).not.toContain('gatehouse');
  expect(some).toBe(
    `${all}\n\nThese are the latest 1. To list all of them:\ngatehouse refund list --order ord_1 --limit 1000`,
  );
});

test("a refund fits a terminal of 80 columns, however long its wallet's answer is", () => {
  const detail = 'The provider has declined the request, because the account is not permitted to. '.repeat(3);
  const { text } = describeRefund(create(RefundSchema, { refundId: 'rfd_1', detail }));
  const lines = (typeof text === 'string' ? text : text(80)).split('\n');

  expect(lines.filter((line) => line.length > 80)).toEqual([]);
});
