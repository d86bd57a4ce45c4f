import { expect, test } from '@jest/globals';
import { storedId } from '../../support/ids.ts';
import { CheckResult, DiagnosticsService } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

const stack = sharedStack({ cores: 1, facades: 0 });
const desk = sharedPaymentDesk(stack);

async function check(name: 'order histories' | 'money'): Promise<Check | undefined> {
  const { checks } = await stack.client(DiagnosticsService, 'webhooks').diagnose({});
  return checks.find((each) => each.name === name);
}
const checkHistories = () => check('order histories');

/** An order that was paid at the second try: five events. */
async function paidOrder(orderNumber: string): Promise<{ merchantId: string; orderId: string }> {
  const { id: merchantId } = await stack.createMerchant();
  const order = await desk.registerHosted({ merchantId, orderNumber });
  await desk.settle(await desk.payHosted(order), outcomes.declined());
  await desk.settle(await desk.payHosted(order), outcomes.completed('t-1'));
  return order;
}

test('orders and their events agree, whatever has happened to them', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const { merchantId: refundedAt } = await paidOrder('A-1');
  await desk.refund(refundedAt, 'A-1');
  await desk.cancelHosted(await desk.registerHosted({ merchantId, orderNumber: 'A-2' }));
  await desk.payHosted(await desk.registerHosted({ merchantId, orderNumber: 'A-3' }));

  const check = await checkHistories();

  expect(check).toMatchObject({
    result: CheckResult.OK,
    detail: 'the latest 3 orders and their events agree',
    advice: '',
  });
});

test.each([
  [
    'status without an event',
    `update core.orders set status = 'EXPIRED', deducted_minor_units = 0 where id = $1`,
  ],
  ['count of events', 'update core.orders set last_event_sequence = 6 where id = $1'],
  ['missing event', 'delete from core.order_events where order_id = $1 and sequence = 3'],
  ['missing last event', 'delete from core.order_events where order_id = $1 and sequence = 5'],
])('an order with a wrong %s is found', async (_what, damage) => {
  const { merchantId, orderId } = await paidOrder('B-1');
  const ids = [storedId('mer', merchantId), storedId('ord', orderId)];
  await desk.query('alter table core.order_events disable trigger append_only');
  await desk.query(damage, [ids[1]]);

  const check = await checkHistories();

  expect(check?.result).toBe(CheckResult.FAILED);
  expect(check?.detail).toMatch(
    new RegExp(`^1 of the latest [0-9]+ orders disagrees with its events: ${orderId}$`),
  );
  await desk.query('delete from core.order_events where merchant_id = $1 and order_id = $2', ids);
});

const refundDiffers = 'the refund differs from its event';

/** An order of 100.50 ETB, of which 40.00 was refunded. */
async function refundedOrder(): Promise<{ merchantId: string; orderId: string; refundId: string }> {
  const { merchantId, orderId } = await paidOrder('C-1');
  const { refundId } = await desk.refund(merchantId, 'C-1', { amount: '40' });
  await desk.recordRefund(await desk.takeRefund(refundId), { case: 'done', value: {} });
  return { merchantId, orderId, refundId };
}

test.each([
  [
    'debited amount',
    `update core.orders set deducted_minor_units = deducted_minor_units - 1 where id = $1`,
    'its debited amount differs from its event',
  ],
  [
    'refunded amount',
    'update core.orders set refunded_minor_units = 3999 where id = $1',
    'its refunded amount is not the sum of its COMPLETED refunds',
  ],
  [
    'amount of a refund',
    'update core.refunds set amount_minor_units = 4001 where order_id = $1',
    refundDiffers,
  ],
  ['deleted refund', 'delete from core.refunds where order_id = $1', refundDiffers],
  [
    'payment attempt',
    `update core.payment_attempts set status = 'TIMED_OUT' where order_id = $1 and status = 'SUCCEEDED'`,
    'its status does not fit its payment attempts',
  ],
  [
    'deleted transaction',
    `delete from core.wallet_receipts where payment_attempt_id in (select id from core.payment_attempts where order_id = $1)`,
    "the wallet's transaction is recorded for another payment or for none",
  ],
])('a wrong row about money is found and named: %s', async (_what, damage, fault) => {
  const { merchantId, orderId, refundId } = await refundedOrder();
  const ids = [storedId('mer', merchantId), storedId('ord', orderId)];
  const before = await check('money');
  await desk.query(damage, [ids[1]]);

  const found = await check('money');

  expect(before?.result).toBe(CheckResult.OK);
  expect(found?.result).toBe(CheckResult.FAILED);
  expect(found?.detail).toMatch(/^the money of 1 of the latest [0-9]+ orders disagrees: /);
  const subject = fault.startsWith('the refund') ? `${orderId} ${refundId}` : orderId;
  expect(found?.detail).toContain(`${subject}: ${fault}`);
  // Without events, the order is in no later check.
  await desk.query('delete from core.order_events where merchant_id = $1 and order_id = $2', ids);
});
