import { expect, test } from '@jest/globals';
import { OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);

test('one transaction of a wallet pays one order, even if it is reported for several', async () => {
  const [one, other] = [await stack.createMerchant(), await stack.createMerchant()];
  const first = await desk.startDirect({ merchantId: one.id });
  const paid = await desk.settle(first, outcomes.completed('T-1'));
  const second = await desk.startDirect({ merchantId: other.id });

  const leased = await desk.take(second);
  const doubted = await desk.payments.recordPaymentOutcome({
    merchantId: other.id,
    paymentAttemptId: second.attemptId,
    leaseId: leased.leaseId,
    outcome: outcomes.completed('T-1'),
  });

  expect(paid.order?.status).toBe(OrderStatus.COMPLETED);
  expect(doubted.order?.status).toBe(OrderStatus.PENDING);
  expect(doubted.paymentAttempt?.status).toBe(PaymentAttemptStatus.UNKNOWN);
  expect(doubted.dueTime).toBeDefined();
  expect(doubted.strayPaymentId).toBe('');
});

test('an ended attempt with an unknown outcome is queried again', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const payment = await desk.startDirect({ merchantId });
  await desk.settle(payment, outcomes.declined());
  await desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: payment.attemptId });

  const unsure = await desk.settle(payment, outcomes.unknown());

  expect(unsure.paymentAttempt?.status).toBe(PaymentAttemptStatus.DECLINED);
  expect(unsure.dueTime).toBeDefined();
});
