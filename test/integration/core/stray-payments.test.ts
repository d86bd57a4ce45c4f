import { beforeEach, describe, expect, test } from '@jest/globals';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { noMerchantId } from '../../../src/contract/public-id.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  StrayPaymentKind,
  StrayPaymentStatus,
} from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import type { LeasedReversal } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { directPayment } from '../../support/order-requests.ts';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { damageRow } from './damaged-row.ts';
import { browserSecret, outcomes, transactionOf, sharedPaymentDesk } from './payment-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import type { Payment } from './payment-desk.ts';

let merchantId: string;

const stack = sharedStack({ cores: 2, facades: 0 });
const desk = sharedPaymentDesk(stack);
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

/** The reversal that is due. */
async function leaseReversal(): Promise<LeasedReversal> {
  const [leased] = await desk.leaseReversals();
  if (leased === undefined) throw new Error('no reversal is due');
  return leased;
}
const makeDue = () => desk.query('update core.stray_payments set due_at = now() where due_at is not null');

const refused = (definite: boolean) => ({ case: 'refused' as const, value: { detail: 'no', definite } });
const done = { case: 'done' as const, value: {} };
const pending = { case: 'pending' as const, value: { providerReference: 'rv-1', detail: 'late' } };

/** A hosted order whose first payment took another amount. */
async function payWrongly() {
  const hosted = await desk.registerHosted({ merchantId });
  const first = await desk.payHosted(hosted);
  const { order } = await desk.settle(first, outcomes.completed('t-1', '99.00'));
  return { hosted, first, order };
}
const hasten = ({ attemptId: paymentAttemptId }: Payment) =>
  desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId });

const untilExpired = (payment: Payment) =>
  waitUntil(
    'the order has expired',
    async () => (await desk.story(payment)).order?.status === OrderStatus.EXPIRED,
  );

const retry = (strayPaymentId: string, headers = {}) =>
  desk.strayPayments.retryReversal({ merchantId, strayPaymentId }, { headers });

/** Money that a direct payment could not take: the wallet debited another amount. */
async function findMoney() {
  const payment = await desk.startDirect({ merchantId });
  const { strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1', '99.00'));
  return { payment, strayPaymentId, leased: await leaseReversal() };
}

describe('money that does not belong to the order', () => {
  const due = { status: StrayPaymentStatus.REVERSAL_DUE, refusalReason: '' };
  const unreturnable = {
    status: StrayPaymentStatus.REVERSAL_REFUSED,
    refusalReason: 'amount_not_returnable',
  };

  test.each([
    ['another amount', '100.51', 'ETB', due],
    ['an unknown currency', '100.50', 'Birr', due],
    ['garbage', 'a lot', '', unreturnable],
  ])(
    '%s: the direct order is FAILED, and only a valid amount can be returned',
    async (_name, amount, currency, state) => {
      const payment = await desk.startDirect({ merchantId });

      const { order, paymentAttempt, strayPaymentId } = await desk.settle(
        payment,
        outcomes.completed('t-1', amount, currency),
      );

      expect(order).toMatchObject({ status: OrderStatus.FAILED, deducted: '0.00' });
      const declined = { status: PaymentAttemptStatus.DECLINED, declineReason: 'wrong_amount' };
      expect(paymentAttempt).toMatchObject(declined);
      expect(await desk.strays(merchantId)).toMatchObject([
        {
          ...{ strayPaymentId, orderId: payment.orderId, paymentAttemptId: payment.attemptId },
          ...{ amount, currency, kind: StrayPaymentKind.WRONG_AMOUNT, ...state },
          providerTransactionId: transactionOf(merchantId, 't-1'),
        },
      ]);
    },
  );

  test('of zero that arrives late causes no reversal', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.timedOut());
    await hasten(payment);

    const { strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1', '0'));

    expect(await desk.strays(merchantId)).toMatchObject([
      { strayPaymentId, kind: StrayPaymentKind.WRONG_AMOUNT, ...unreturnable },
    ]);
    expect(await desk.leaseReversals()).toEqual([]);
    await expect(retry(strayPaymentId)).rejects.toThrow('settle the stray payment');
    await desk.reversals.hastenReversal({ merchantId, reversalId: strayPaymentId });
    await makeDue();
    expect(await desk.leaseReversals()).toEqual([]);
    const logged = stack.cores.flatMap(({ log }) => log);
    expect(logged).toContainEqual(
      expect.objectContaining({ stray_payment_id: strayPaymentId, not_returnable: true }),
    );
  });

  test('of zero that an earlier version recorded causes no reversal', async () => {
    const payment = await desk.startDirect({ merchantId });
    const { strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1', '100.51'));
    await desk.query(`update core.stray_payments set amount = '0', due_at = now() where id = $1`, [
      storedId('stp', strayPaymentId),
    ]);

    expect(await desk.leaseReversals()).toEqual([]);
    expect(await desk.strays(merchantId)).toMatchObject([{ strayPaymentId, ...unreturnable }]);
  });

  test('of zero without an order causes no reversal', async () => {
    const reported = await desk.reportFromMenu(merchantId, 'menu', { amount: '0' });
    const ended = await desk.confirmFromMenu(merchantId, reported, 'menu', { amount: '0' });

    const { strayPayments } = await desk.strayPayments.listStrayPayments({ pageSize: 100 });
    const stray = strayPayments.find(({ strayPaymentId }) => strayPaymentId === ended?.strayPaymentId);
    expect(stray).toMatchObject({ kind: StrayPaymentKind.NO_ORDER, amount: '0', ...unreturnable });
    expect(await desk.leaseReversals()).toEqual([]);
  });

  test.each([
    ['being sent back', undefined],
    ['refused, and perhaps sent back all the same', refused(false)],
  ])(
    'and is %s prevents all further attempts of a hosted order until the payer has it back',
    async (_name, state) => {
      const { hosted, order } = await payWrongly();
      expect(order?.status).toBe(OrderStatus.PENDING);
      const leased = await leaseReversal();
      if (state !== undefined) await desk.recordReversal(leased, state);
      const direct = { merchantId, orderNumber: order?.orderNumber ?? '', phone: '0911223399' };

      const refusals = [
        await failureOf(desk.payHosted(hosted)),
        await failureOf(desk.payHosted(hosted, 'walletb_ussd', '0911223398')),
        await failureOf(desk.startDirect(direct)),
      ];
      const { results } = await desk.orders.batchStartDirectPayments({ requests: [directPayment(direct)] });

      for (const failure of refusals)
        expect(failure).toMatchObject({ code: 'FailedPrecondition', reason: 'MONEY_NOT_RETURNED' });
      expect(refusals.at(-1)?.issues).toEqual({
        order_number: expect.stringContaining('has not been returned yet'),
      });
      expect(results.map(({ result }) => result.case)).toEqual(['error']);
      const { token } = hosted;
      const { checkout } = await desk.checkout.getCheckout({ token, browserSecret: browserSecret() });
      const held = { amount: '99.00', currency: 'ETB', reversalRefused: state?.case === 'refused' };
      expect(checkout?.moneyNotReturned).toMatchObject(held);

      const strayPaymentId = leased.strayPayment?.strayPaymentId ?? '';
      if (state?.case === 'refused') await desk.strayPayments.retryReversal({ merchantId, strayPaymentId });
      await makeDue();
      await desk.recordReversal(await leaseReversal(), done);
      const second = await desk.payHosted(hosted);
      const { order: paid } = await desk.settle(second, outcomes.completed('t-2'));
      expect(paid?.status).toBe(OrderStatus.COMPLETED);
    },
  );

  test('and stays with the wallet does not keep its order open beyond the session', async () => {
    const { first } = await payWrongly();
    await desk.recordReversal(await leaseReversal(), refused(true));
    await desk.endSession(first);
    await untilExpired(first);
    expect(await desk.strays(merchantId)).toMatchObject([{ status: StrayPaymentStatus.REVERSAL_REFUSED }]);
  });

  test('and is found before the next attempt is sent ends that attempt unsent, and one already sent is not repeated', async () => {
    const hosted = await desk.registerHosted({ merchantId });
    const first = await desk.payHosted(hosted);
    await desk.settle(first, outcomes.declined());
    await hasten(first);
    const look = await desk.take(first);
    const other = await desk.registerHosted({ merchantId, orderNumber: 'A-2' });
    const otherFirst = await desk.payHosted(other, 'walleta_ussd', '0911223397');
    await desk.settle(otherFirst, outcomes.declined());
    await hasten(otherFirst);
    const otherLook = await desk.take(otherFirst);
    const otherSecond = await desk.payHosted(other, 'walletb_ussd', '0911223397');
    await desk.settle(otherSecond, outcomes.unknown());
    // The last test, because the lease of one attempt leases all that are due.
    const second = await desk.payHosted(hosted, 'walletb_ussd');

    await desk.record(look, outcomes.completed('t-1'));
    await desk.record(otherLook, outcomes.completed('t-2'));
    await desk.makeDue(otherSecond);
    const leased = await desk.lease();

    expect((await desk.story(second)).paymentAttempt?.status).toBe(PaymentAttemptStatus.TIMED_OUT);
    expect(leased.map(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId)).toEqual([
      otherSecond.attemptId,
    ]);
    expect(timestampMs(leased[0]?.promptUntil ?? timestampFromMs(Infinity))).toBeLessThanOrEqual(
      timestampMs(leased[0]?.leaseTime ?? timestampFromMs(0)),
    );
  });

  test('that arrives after the end of the order is LATE, and reporting it again changes nothing', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.timedOut());
    const told: string[] = [];

    for (let time = 0; time < 3; time += 1) {
      await hasten(payment);
      const { order, strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1'));
      expect(order?.status).toBe(OrderStatus.FAILED);
      told.push(strayPaymentId);
    }

    const strays = await desk.strays(merchantId);
    expect(strays).toMatchObject([{ kind: StrayPaymentKind.LATE, amount: '100.50' }]);
    expect(told).toEqual(Array.from({ length: 3 }, () => strays[0]?.strayPaymentId));
    expect(await desk.history(payment)).toEqual(['1 CREATED', '2 PAYMENT_STARTED', '3 FAILED']);
  });
});

describe('a reversal', () => {
  test('has its first name again when a restored database finds the money again', async () => {
    const { leased, payment } = await findMoney();
    await desk.recordReversal(leased, done);
    const id = storedId('pat', payment.attemptId);
    await desk.query('delete from core.stray_payments where payment_attempt_id = $1', [id]);
    await desk.query('delete from core.wallet_receipts where payment_attempt_id = $1', [id]);

    await hasten(payment);
    await desk.settle(payment, outcomes.completed('t-1', '99.00'));

    expect((await leaseReversal()).reversalId).toBe(leased.reversalId);
    expect(leased.reversalId.slice(0, 12).replace('stp_', 'pat_')).toBe(payment.attemptId.slice(0, 12));
  });

  test('belongs to one worker at a time, and counts as sent when that worker has exited', async () => {
    const { leased, strayPaymentId } = await findMoney();
    const { reversalId } = leased;
    expect(leased).toMatchObject({ sentBefore: false, strayPayment: { tries: 1 } });
    expect(reversalId).toBe(strayPaymentId);
    expect(await desk.leaseReversals()).toEqual([]);

    await makeDue();
    expect(await leaseReversal()).toMatchObject({ sentBefore: true, reversalId, strayPayment: { tries: 2 } });
    const failure = await failureOf(desk.recordReversal(leased, done));
    expect(failure).toMatchObject({ code: 'FailedPrecondition', reason: 'LEASE_LOST' });
  });

  test('is queried until the wallet confirms, by the wallet’s reference', async () => {
    const { leased, payment } = await findMoney();
    await desk.recordReversal(leased, pending);
    await makeDue();
    const next = await leaseReversal();
    expect(next).toMatchObject({ sentBefore: true, providerReference: 'rv-1' });

    const { strayPayment } = await desk.recordReversal(next, done);

    expect(strayPayment).toMatchObject({ status: StrayPaymentStatus.REVERSED, detail: '' });
    expect(await desk.leaseReversals()).toEqual([]);
    expect((await desk.story(payment)).exchanges).toHaveLength(2);
  });

  test('that the wallet refuses waits for a person, whose retry is recorded', async () => {
    const { leased, strayPaymentId } = await findMoney();
    const value = { reason: 'account_state', detail: 'account \0 closed', definite: true };
    await desk.recordReversal(leased, { case: 'refused', value });
    const detail = expect.stringMatching(/^account .+ closed$/);
    const refusedStray = { strayPaymentId, refusalReason: 'account_state', detail };
    expect(await desk.strays(merchantId)).toMatchObject([refusedStray]);
    expect(await desk.leaseReversals()).toEqual([]);

    const { strayPayment } = await retry(strayPaymentId, { 'x-gatehouse-actor': 'sara' });

    expect(strayPayment?.refusalReason).toBe('');
    const [again] = await desk.leaseReversals();
    expect(again).toMatchObject({
      sentBefore: false,
      strayPayment: { strayPaymentId, status: StrayPaymentStatus.REVERSAL_DUE },
    });
    // Under the refused reference, the wallet would answer as before.
    expect(again?.reversalId).not.toBe(strayPaymentId);
    const { entries } = await stack.client(AuditService, 'operator').listAuditEntries({ merchantId });
    const action = 'stray_payment.retry_reversal';
    const actor = expect.stringContaining('sara');
    expect(entries).toContainEqual(expect.objectContaining({ action, targetId: strayPaymentId, actor }));
  });

  test.each([
    ['is with a worker', undefined, 'could return the money twice'],
    ['is done', done, 'has succeeded'],
  ])('cannot be retried while the last try %s', async (_name, outcome, why) => {
    const { leased, strayPaymentId } = await findMoney();
    if (outcome !== undefined) await desk.recordReversal(leased, outcome);

    const retried = retry(strayPaymentId);

    await expect(retried).rejects.toThrow(why);
    const failure = { code: 'FailedPrecondition', reason: 'REVERSAL_NOT_REFUSED' };
    expect(await failureOf(retried)).toMatchObject(failure);
    await makeDue();
    const reversalIds = (await desk.leaseReversals()).map(({ reversalId }) => reversalId);
    expect(reversalIds).toEqual(outcome === undefined ? [strayPaymentId] : []);
  });

  test('is leased although another one cannot be changed, which waits', async () => {
    const { strayPaymentId } = await findMoney();
    await makeDue();
    const repair = await damageRow(desk.query, 'stray_payments', storedId('stp', strayPaymentId), 'changed');
    const next = await desk.startDirect({ merchantId, orderNumber: 'D-2' });
    const settled = await desk.settle(next, outcomes.completed('t-2', '99.00'));

    const leased = await waitUntil('it is leased', async () => {
      const all = await desk.leaseReversals();
      return all.length > 0 && all;
    });

    expect(leased.map(({ reversalId }) => reversalId)).toEqual([settled.strayPaymentId]);
    await repair();
  });

  test('is not leased to a worker that excludes its merchant', async () => {
    await payWrongly();

    expect(await desk.leaseReversals(100, [merchantId, noMerchantId])).toEqual([]);
    expect(await desk.leaseReversals(100, [noMerchantId])).toHaveLength(1);
  });

  test('that ten people retry at once is retried once', async () => {
    const { leased, strayPaymentId } = await findMoney();
    await desk.recordReversal(leased, refused(true));
    const tries = await Promise.allSettled(Array.from({ length: 10 }, () => retry(strayPaymentId)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await desk.leaseReversals()).toHaveLength(1);
  });

  test('recorded twice under one lease changes nothing more', async () => {
    const { leased, strayPaymentId } = await findMoney();
    await desk.recordReversal(leased, refused(true));
    await retry(strayPaymentId);
    // The answer to the first call was lost, and the repeat arrives after a person has retried it.
    await desk.recordReversal(leased, refused(true));
    const next = await leaseReversal();

    const first = await desk.recordReversal(next, done);

    expect(await desk.recordReversal(next, pending)).toEqual(first);
  });

  test('is listed by the order it was meant for, and is not found by an invalid id', async () => {
    const { strayPaymentId, payment } = await findMoney();
    const other = await desk.startDirect({ merchantId, orderNumber: 'another' });
    await desk.settle(other, outcomes.completed('t-2', '99.00'));
    const listed = async (orderId: string) =>
      (await desk.strayPayments.listStrayPayments({ merchantId, orderId })).strayPayments;
    const uuid = '01900000-0000-7000-8000-000000000000';

    expect((await listed(payment.orderId)).map((stray) => stray.strayPaymentId)).toEqual([strayPaymentId]);
    expect(await listed(publicId('ord', uuid))).toEqual([]);
    expect(await wrongFields(listed(merchantId))).toBe('order_id');
    const failure = { code: 'NotFound', reason: 'STRAY_PAYMENT_NOT_FOUND' };
    expect(await failureOf(retry(publicId('stp', uuid)))).toMatchObject(failure);
  });
});

test('an order past its session waits for the wallet while its outcome is unknown, and then expires at once', async () => {
  const hosted = await desk.registerHosted({ merchantId });
  const payment = await desk.payHosted(hosted);
  await desk.settle(payment, outcomes.unknown());
  await desk.endSession(payment);
  await waitUntil('the sweep has looked at it', async () => {
    const isSwept = "sweep_at > now() and sweep_at <= now() + interval '15 s' and expires_at <= now()";
    return (await desk.query(`select from core.orders where ${isSwept}`)).length > 0;
  });
  expect((await desk.story(payment)).order?.status).toBe(OrderStatus.PENDING);

  await desk.makeDue(payment);
  await desk.settle(payment, outcomes.declined());

  // Well before the next regular run of the sweep.
  await untilExpired(payment);
  const events = ['1 CREATED', '2 PAYMENT_STARTED', '3 PAYMENT_DECLINED', '4 EXPIRED'];
  expect(await desk.history(hosted)).toEqual(events);
});
