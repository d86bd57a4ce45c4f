import { expect, test } from '@jest/globals';
import { storedId } from '../../support/ids.ts';
import { CheckResult, DiagnosticsService } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';

const stack = sharedStack({ cores: 1, facades: 0 });
const desk = sharedPaymentDesk(stack);

async function checkHistories(): Promise<Check | undefined> {
  const { checks } = await stack.client(DiagnosticsService, 'webhooks').diagnose({});
  return checks.find(({ name }) => name === 'order histories');
}

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
  const { merchantId: refundedAt, orderId } = await paidOrder('A-1');
  await stack.client(RefundService, 'writer').createRefund({
    merchantId: refundedAt,
    environment: Environment.SANDBOX,
    order: { case: 'orderId', value: orderId },
    refundNumber: 'A-1-return',
    reason: 'Came back',
  });
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
