import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { OrderStoryService } from '../../../src/gen/gatehouse/v1/order_story_service_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import type { PublicId } from '../../../src/contract/public-id.ts';
import { createCheckoutTokens } from '../../../src/core/payments/checkout/checkout-token.ts';
import { deriveKey } from '../../../src/main/derive-key.ts';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedConnection, sharedStack } from '../../support/shared-stack.ts';

/* A database that was replaced under a running core, until the core has begun a recovery. */

const stack = sharedStack({ cores: 1, facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
const refunds = sharedClient(stack, RefundService, 'writer');
const checkouts = sharedClient(stack, CheckoutService, 'checkout');
const stories = sharedClient(stack, OrderStoryService, 'reader');
const connection = sharedConnection(() => stack.databaseUrl);
const holder = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
let home: string;

const setHome = (value: string) => connection.query('update core.database_life set home = $1', [value]);
/** The token in the checkout URL of an order. */
function tokenOf(id: PublicId<'ord'>): string {
  const key = deriveKey(
    Buffer.from(stack.coreSettings['GATEHOUSE_MASTER_KEY'] ?? '', 'hex'),
    'checkout-token',
  );
  const url = createCheckoutTokens('', key).urlOf({
    ...{ id, merchantId: merchantId as PublicId<'mer'>, environment: 'SANDBOX' },
  });
  return url.slice(url.lastIndexOf('/') + 1);
}
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
  const { rows } = await connection.query<{ home: string }>('select home from core.database_life');
  home = rows[0]?.home ?? '';
  await holder.query('begin');
});

afterEach(async () => {
  await setHome(home);
  await holder.query('rollback');
});

test('no new order is added to a restored database before core has noticed it', async () => {
  await orders.registerOrder(registration({ merchantId, orderNumber: 'known' }));
  // Another core would begin the recovery.
  await holder.query('select pg_advisory_xact_lock(7142006)');
  await setHome('another server');

  const [registered, started] = await Promise.all([
    failureOf(orders.registerOrder(registration({ merchantId, orderNumber: 'new' }))),
    failureOf(orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'new-too' }))),
  ]);

  expect([registered.reason, started.reason]).toEqual(['RECOVERING', 'RECOVERING']);
  const { rows } = await connection.query('select order_number from core.orders');
  expect(rows).toEqual([{ order_number: 'known' }]);
  const { repeated } = await orders.registerOrder(registration({ merchantId, orderNumber: 'known' }));
  expect(repeated).toBe(true);
});

test('unknown orders and refunds are not denied between a restore and the beginning of the recovery', async () => {
  await holder.query('lock table core.refunds in row exclusive mode');
  await setHome('another server');

  const lost = newRandomId('ord', new Date());
  const token = tokenOf(lost);
  const place = { merchantId, environment: Environment.SANDBOX };
  const key = { case: 'orderNumber', value: 'lost' } as const;
  const calls = {
    status: orders.getOrder(orderNamed(merchantId, 'lost')),
    explanation: stories.explainOrder({ ...place, key }),
    story: stories.getOrderStory({ ...place, orderId: lost }),
    cancellation: orders.cancelOrder({ ...place, orderId: lost }),
    refundable: refunds.getRefundable({ ...place, orderId: lost }),
    refund: refunds.createRefund({ ...place, order: key, refundNumber: 'R-1', reason: 'Came back' }),
    refundByNumber: refunds.getRefund({ ...place, name: { case: 'refundNumber', value: 'R-1' } }),
    refundById: refunds.getRefund({
      merchantId,
      name: { case: 'refundId', value: newRandomId('rfd', new Date()) },
    }),
    checkout: checkouts.getCheckout({ token }),
    cancelledCheckout: checkouts.cancelCheckout({ token }),
  };
  for (const [call, answer] of Object.entries(calls))
    expect([call, (await failureOf(answer)).reason]).toEqual([call, 'RECOVERING']);

  const { rows } = await connection.query('select id from core.recoveries');
  expect(rows).toEqual([]);
});
