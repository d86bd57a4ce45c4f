import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Environment, OrderStatus, RefundStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { OrderStoryService } from '../../../src/gen/gatehouse/v1/order_story_service_pb.js';
import {
  SettlementOutcome,
  SettlementService,
  SettlementStatus,
} from '../../../src/gen/gatehouse/v1/settlement_service_pb.js';
import { StrayPaymentStatus } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { newRandomId, storedId } from '../../../src/contract/public-id.ts';
import type { PublicId } from '../../../src/contract/public-id.ts';
import { createCheckoutTokens } from '../../../src/core/payments/checkout/checkout-token.ts';
import { deriveKey } from '../../../src/main/derive-key.ts';
import { holdLocks } from '../../support/database-connections.ts';
import { makeOperatorsOld } from '../../support/dashboard-users.ts';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { failureOf, refusalOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { sharedAccountDesk } from './account-desk.ts';
import {
  beginRecovery,
  endRecoveries,
  holdRecoveries,
  restoreDatabase,
  returnDatabase,
} from './held-recoveries.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';

/* A database that was replaced under a running core, until the core has begun a recovery. */

const stack = sharedStack({ cores: 1, facades: 0 });
const desk = sharedPaymentDesk(stack);
const accounts = sharedAccountDesk(stack);
const approvals = sharedClient(stack, RefundService, 'dashboard');
const settlements = sharedClient(stack, SettlementService, 'dashboard');
const stories = sharedClient(stack, OrderStoryService, 'reader');
const connection = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
let letRecover: (() => Promise<void>) | undefined;

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
async function restore(): Promise<void> {
  letRecover = await holdRecoveries(stack.databaseUrl);
  await restoreDatabase(stack.databaseUrl);
}
/** A recovery holds the merchant. */
async function hold(): Promise<void> {
  letRecover = await holdRecoveries(stack.databaseUrl);
  await beginRecovery(stack.databaseUrl, { merchantIds: [merchantId] });
}
async function resume(): Promise<void> {
  await returnDatabase(stack.databaseUrl);
  await endRecoveries(stack.databaseUrl);
}
const find = (orderNumber: string) => desk.orders.getOrder(orderNamed(merchantId, orderNumber));

beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
  await waitUntil('core takes payments again after the last test', async () => {
    return (await refusalOf(find('unknown'))) === 'ORDER_NOT_FOUND';
  });
});

afterEach(async () => {
  await resume();
  await letRecover?.();
  letRecover = undefined;
});

test('no new order is added to a restored database before core has noticed it', async () => {
  await desk.orders.registerOrder(registration({ merchantId, orderNumber: 'known' }));
  await restore();

  const [registered, started] = await Promise.all([
    failureOf(desk.orders.registerOrder(registration({ merchantId, orderNumber: 'new' }))),
    failureOf(desk.orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'new-too' }))),
  ]);

  expect([registered.reason, started.reason]).toEqual(['RECOVERING', 'RECOVERING']);
  const { rows } = await connection.query('select order_number from core.orders');
  expect(rows).toEqual([{ order_number: 'known' }]);
  const { repeated } = await desk.orders.registerOrder(registration({ merchantId, orderNumber: 'known' }));
  expect(repeated).toBe(true);
});

test('a restored database gives wallets no refund and no return before core has noticed it', async () => {
  const paid = await desk.startDirect({ merchantId, orderNumber: 'R-1', phone: '0911002001' });
  await desk.settle(paid, outcomes.completed('t-1'));
  await desk.refund(merchantId, 'R-1');
  const other = await desk.startDirect({ merchantId, orderNumber: 'R-2', phone: '0911002002' });
  await desk.settle(other, outcomes.completed('t-2', '99.00'));
  await restore();

  expect([await desk.leaseRefunds(), await desk.leaseReversals()]).toEqual([[], []]);
  await resume();
  expect([await desk.leaseRefunds(), await desk.leaseReversals()]).toEqual([
    [expect.objectContaining({ sentBefore: false })],
    [expect.objectContaining({ sentBefore: false })],
  ]);
});

describe.each([
  ['a database that was restored', restore],
  ['a database that holds the merchant', hold],
])('%s, before core has noticed it', (_, begin) => {
  test('starts no payment of a known order', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'P-1' });
    await begin();

    const direct = desk.startDirect({ merchantId, orderNumber: 'P-1' });
    expect([await refusalOf(direct), await refusalOf(desk.payHosted(hosted))]).toEqual([
      'RECOVERING',
      'RECOVERING',
    ]);
    expect(await desk.history(hosted)).toEqual(['1 CREATED']);
  });

  test('creates no new refund', async () => {
    const payment = await desk.startDirect({ merchantId, orderNumber: 'R-1' });
    await desk.settle(payment, outcomes.completed('t-1'));
    const refund = (refundNumber: string) =>
      desk.askRefund(merchantId, 'R-1', { refundNumber, amount: '40.00' });
    await refund('known');
    await begin();

    expect(await refusalOf(refund('lost'))).toBe('RECOVERING');
    expect((await refund('known')).repeated).toBe(true);
    expect((await desk.history(payment)).at(-1)).toBe('4 REFUND_REQUESTED');
  });

  test('approves and declines no refund', async () => {
    const approvalLimits = [{ currency: 'ETB', amount: '0' }];
    await stack.client(MerchantService, 'operator').updateMerchant({
      ...{ merchantId, refundPolicy: { approvalLimits } },
    });
    const payment = await desk.startDirect({ merchantId, orderNumber: 'A-1' });
    await desk.settle(payment, outcomes.completed('t-1'));
    const ask = async (refundNumber: string) => {
      const { refundId } = await desk.refund(merchantId, 'A-1', { refundNumber, amount: '40.00' });
      return { merchantId, refundId };
    };
    const [approved, open] = [await ask('approved'), await ask('open')];
    const by = { headers: { 'x-gatehouse-actor': 'usr_b' } };
    await approvals.approveRefund(approved, by);
    const before = await desk.history(payment);
    await begin();

    const unknown = { merchantId, refundId: newRandomId('rfd', new Date()) };
    const answers = [
      await refusalOf(approvals.approveRefund(open, by)),
      await refusalOf(approvals.declineRefund(open, by)),
      await refusalOf(approvals.declineRefund(unknown, by)),
    ];
    expect(answers).toEqual(['RECOVERING', 'RECOVERING', 'RECOVERING']);
    expect(await desk.history(payment)).toEqual(before);
    expect((await approvals.approveRefund(approved, by)).refund?.status).toBe(RefundStatus.REQUESTED);
  });

  test('retries no refused return of money', async () => {
    const payment = await desk.startDirect({ merchantId, orderNumber: 'R-1' });
    const { strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1', '99.00'));
    await connection.query(sql`update core.stray_payments set status = 'REVERSAL_REFUSED', due_at = null
      where id = ${storedId('stp', strayPaymentId as PublicId<'stp'>)}`);
    const key = { merchantId, strayPaymentId };
    await begin();

    expect(await refusalOf(desk.strayPayments.retryReversal(key))).toBe('RECOVERING');
    await resume();
    const { strayPayment } = await desk.strayPayments.retryReversal(key);
    expect(strayPayment?.status).toBe(StrayPaymentStatus.REVERSAL_DUE);
  });

  test('carries out no settlement', async () => {
    const { userId } = await accounts.addUser();
    await makeOperatorsOld(stack);
    const payments = [];
    for (const orderNumber of ['S-1', 'S-2']) {
      const phone = `09110010${orderNumber.at(-1)?.padStart(2, '0')}`;
      const payment = await desk.startDirect({ merchantId, orderNumber, phone });
      await desk.settle(payment, outcomes.unknown());
      const { settlement } = await stack.client(SettlementService, 'operator').proposeSettlement({
        ...{ merchantId, subject: { case: 'paymentAttemptId', value: payment.attemptId } },
        ...{ outcome: SettlementOutcome.NOT_PAID, reason: 'The provider answered', providerReference: 'C-7' },
      });
      payments.push({ payment, settlementId: settlement?.settlementId ?? '' });
    }
    const [confirmed, open] = payments;
    const confirm = (settlementId = '') =>
      settlements.confirmSettlement({ settlementId }, { headers: { 'x-gatehouse-actor': userId } });
    await confirm(confirmed?.settlementId);
    await begin();

    expect(await refusalOf(confirm(open?.settlementId))).toBe('RECOVERING');
    expect((await find('S-2')).order?.status).toBe(OrderStatus.PENDING);
    expect((await confirm(confirmed?.settlementId)).settlement?.status).toBe(SettlementStatus.CONFIRMED);
  });
});

// Last, because core begins a recovery after it.
test('unknown orders, attempts and refunds are not denied between a restore and the beginning of the recovery', async () => {
  letRecover = await holdLocks(stack.databaseUrl, 'lock table core.refunds in row exclusive mode');
  await restoreDatabase(stack.databaseUrl);

  const lost = newRandomId('ord', new Date());
  const token = tokenOf(lost);
  const place = { merchantId, environment: Environment.SANDBOX };
  const key = { case: 'orderNumber', value: 'lost' } as const;
  const calls = {
    status: find('lost'),
    explanation: stories.explainOrder({ ...place, key }),
    story: stories.getOrderStory({ ...place, orderId: lost }),
    cancellation: desk.orders.cancelOrder({ ...place, orderId: lost }),
    refundable: desk.refunds.getRefundable({ ...place, orderId: lost }),
    refund: desk.refunds.createRefund({ ...place, order: key, refundNumber: 'R-1', reason: 'Came back' }),
    refundByNumber: desk.refunds.getRefund({ ...place, name: { case: 'refundNumber', value: 'R-1' } }),
    refundById: desk.refunds.getRefund({
      merchantId,
      name: { case: 'refundId', value: newRandomId('rfd', new Date()) },
    }),
    callback: desk.payments.hastenPaymentAttempt({
      ...{ merchantId, paymentAttemptId: newRandomId('pat', new Date()) },
    }),
    refundCallback: desk.refundWork.hastenRefund({
      ...{ merchantId, refundId: newRandomId('rfd', new Date()) },
    }),
    checkout: desk.checkout.getCheckout({ token }),
    cancelledCheckout: desk.checkout.cancelCheckout({ token }),
  };
  const reasons = Object.entries(calls).map(async ([call, answer]) => [
    call,
    (await failureOf(answer)).reason,
  ]);
  for (const [call, reason] of await Promise.all(reasons))
    expect([call, reason]).toEqual([call, 'RECOVERING']);

  const { rows } = await connection.query('select id from core.recoveries where finished_at is null');
  expect(rows).toEqual([]);
});
