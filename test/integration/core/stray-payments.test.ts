import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { publicId, storedId } from '../../support/ids.ts';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import {
  Environment,
  OrderStatus,
  PaymentAttemptStatus,
  PaymentOption,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  StrayPaymentKind,
  StrayPaymentService,
  StrayPaymentStatus,
} from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import type { LeasedReversal } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { directPayment } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { browserSecret, openPaymentDesk, outcomes, transactionOf } from './payment-desk.ts';
import type { PaymentDesk } from './payment-desk.ts';

let stack: Stack;
let desk: PaymentDesk;
let merchantId: string;

beforeAll(async () => {
  stack = await startStack({ cores: 2, facades: 0 });
  desk = await openPaymentDesk(stack);
});
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});
afterAll(async () => {
  await desk.close();
  await stack.stop();
});

const wallets = () => stack.client(StrayPaymentService, 'wallets');

async function leaseReversals(): Promise<LeasedReversal[]> {
  const { reversals } = await wallets().leaseReversals({
    environment: Environment.SANDBOX,
    paymentOptions: [PaymentOption.WALLETA_USSD],
    maxReversals: 100,
    lease: { seconds: 60n },
  });
  return reversals;
}

type ReversalOutcome = Parameters<ReturnType<typeof wallets>['recordReversalOutcome']>[0]['outcome'];

const recordReversal = ({ strayPayment, leaseId }: LeasedReversal, outcome: NonNullable<ReversalOutcome>) =>
  wallets().recordReversalOutcome({
    merchantId: strayPayment?.merchantId ?? '',
    strayPaymentId: strayPayment?.strayPaymentId ?? '',
    leaseId,
    outcome,
    exchanges: [{ purpose: 'reverse' }],
  });

const refused = (definite: boolean) => ({ case: 'refused' as const, value: { detail: 'no', definite } });

/** Money that a direct payment could not take: the wallet debited another amount. */
async function findMoney() {
  const payment = await desk.startDirect({ merchantId });
  const { strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1', '99.00'));
  const [leased] = await leaseReversals();
  if (leased === undefined) throw new Error('no reversal is due');
  return { payment, strayPaymentId, leased };
}

describe('money that is not the order’s', () => {
  test.each([
    ['another amount', '100.51', 'ETB'],
    ['less', '0.01', 'ETB'],
    ['another currency', '100.50', 'USD'],
    ['an unheard-of currency', '100.50', 'Birr'],
    ['a fraction of the smallest coin', '100.501', 'ETB'],
    ['garbage that begins with the amount', '100.50.1', 'ETB'],
    ['garbage', 'a lot', 'ETB'],
    ['a negative amount', '-100.50', 'ETB'],
    ['an exponent', '1005e-1', 'ETB'],
    ['nothing', '', ''],
  ])('%s: the direct order is FAILED and the money is to go back', async (_name, amount, currency) => {
    const payment = await desk.startDirect({ merchantId });

    const { order, paymentAttempt, strayPaymentId } = await desk.settle(
      payment,
      outcomes.completed('t-1', amount, currency),
    );

    expect(order).toMatchObject({ status: OrderStatus.FAILED, deducted: '0.00' });
    expect(paymentAttempt).toMatchObject({
      status: PaymentAttemptStatus.DECLINED,
      declineReason: 'wrong_amount',
    });
    expect(await desk.strays(merchantId)).toMatchObject([
      {
        strayPaymentId,
        orderId: payment.orderId,
        paymentAttemptId: payment.attemptId,
        providerTransactionId: transactionOf(merchantId, 't-1'),
        amount,
        currency,
        kind: StrayPaymentKind.WRONG_AMOUNT,
        status: StrayPaymentStatus.REVERSAL_DUE,
      },
    ]);
  });

  test.each([
    ['being sent back', undefined],
    ['refused by the wallet', refused(true)],
    ['refused, and perhaps sent back all the same', refused(false)],
    ['of unknown whereabouts', { case: 'pending', value: {} } as const],
  ])(
    'and is %s keeps a hosted order from every next try until the payer has it back',
    async (_name, state) => {
      const hosted = await desk.registerHosted({ merchantId });
      const first = await desk.payHosted(hosted);
      const { order } = await desk.settle(first, outcomes.completed('t-1', '99.00'));
      expect(order?.status).toBe(OrderStatus.PENDING);
      const [leased] = await leaseReversals();
      if (leased === undefined) throw new Error('no reversal is due');
      if (state !== undefined) await recordReversal(leased, state);
      const direct = { merchantId, orderNumber: order?.orderNumber ?? '', phone: '0911223399' };

      const refusals = [
        await failureOf(desk.payHosted(hosted)),
        await failureOf(desk.payHosted(hosted, PaymentOption.WALLETB_USSD, '0911223398')),
        await failureOf(desk.startDirect(direct)),
      ];
      const { results } = await desk.orders.batchStartDirectPayments({ requests: [directPayment(direct)] });

      for (const failure of refusals)
        expect(failure).toMatchObject({ code: 'FailedPrecondition', reason: 'MONEY_NOT_RETURNED' });
      expect(refusals.at(-1)?.issues).toEqual({
        order_number: expect.stringContaining('not back with the payer'),
      });
      expect(results.map(({ result }) => result.case)).toEqual(['error']);
      const { checkout } = await desk.checkout.getCheckout({
        token: hosted.token,
        browserSecret: browserSecret(),
      });
      expect(checkout?.moneyNotReturned).toMatchObject({
        amount: '99.00',
        currency: 'ETB',
        reversalRefused: state?.case === 'refused',
      });

      if (state?.case === 'refused')
        await desk.strayPayments.retryReversal({
          merchantId,
          strayPaymentId: leased.strayPayment?.strayPaymentId ?? '',
        });
      await desk.query(
        'update core.stray_payments set due_at = now(), leased_until = null where merchant_id = $1 and due_at is not null',
        [storedId('mer', merchantId)],
      );
      const [again] = await leaseReversals();
      if (again === undefined) throw new Error('the reversal is not tried again');
      await recordReversal(again, { case: 'done', value: {} });
      const second = await desk.payHosted(hosted);
      expect((await desk.settle(second, outcomes.completed('t-2'))).order?.status).toBe(
        OrderStatus.COMPLETED,
      );
    },
  );

  test('and stays with the wallet does not keep its order open past the session', async () => {
    const hosted = await desk.registerHosted({ merchantId });
    const first = await desk.payHosted(hosted);
    await desk.settle(first, outcomes.completed('t-1', '99.00'));
    const [leased] = await leaseReversals();
    if (leased === undefined) throw new Error('no reversal is due');
    await recordReversal(leased, refused(true));

    await desk.endSession(first);

    await waitUntil(
      'the order has ended',
      async () => (await desk.story(first)).order?.status === OrderStatus.EXPIRED,
    );
    expect(await desk.strays(merchantId)).toMatchObject([{ status: StrayPaymentStatus.REVERSAL_REFUSED }]);
  });

  test('and turns up before the next try is sent ends that try unsent, and one sent already is not sent again', async () => {
    const hosted = await desk.registerHosted({ merchantId });
    const first = await desk.payHosted(hosted);
    await desk.settle(first, outcomes.declined());
    await desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: first.attemptId });
    const look = await desk.take(first);
    const other = await desk.registerHosted({ merchantId, orderNumber: 'A-2' });
    const otherFirst = await desk.payHosted(other, PaymentOption.WALLETA_USSD, '0911223397');
    await desk.settle(otherFirst, outcomes.declined());
    await desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: otherFirst.attemptId });
    const otherLook = await desk.take(otherFirst);
    const otherSecond = await desk.payHosted(other, PaymentOption.WALLETB_USSD, '0911223397');
    await desk.settle(otherSecond, outcomes.unknown());
    // Last, because whoever takes one attempt takes all that are due.
    const second = await desk.payHosted(hosted, PaymentOption.WALLETB_USSD);

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

  test('that comes when the order has ended is LATE and does not change it, however often it is told', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.timedOut());
    const told: string[] = [];

    for (let time = 0; time < 3; time += 1) {
      await desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: payment.attemptId });
      const { order, strayPaymentId } = await desk.settle(payment, outcomes.completed('t-1'));
      expect(order?.status).toBe(OrderStatus.FAILED);
      told.push(strayPaymentId);
    }

    const strays = await desk.strays(merchantId);
    expect(strays).toMatchObject([{ kind: StrayPaymentKind.LATE, amount: '100.50' }]);
    expect(told).toEqual(Array.from({ length: 3 }, () => strays[0]?.strayPaymentId));
    expect(await desk.history(payment)).toEqual(['1 CREATED', '2 PAYMENT_STARTED', '3 FAILED']);
  });

  test('of an earlier try that the wallet had declined is LATE while the next try goes on', async () => {
    const hosted = await desk.registerHosted({ merchantId });
    const first = await desk.payHosted(hosted);
    await desk.settle(first, outcomes.declined());
    await desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: first.attemptId });
    const look = await desk.take(first);
    const second = await desk.payHosted(hosted);
    const sent = await desk.take(second);

    const { order, strayPaymentId } = await desk.record(look, outcomes.completed('t-1'));

    expect(order?.status).toBe(OrderStatus.PENDING);
    expect(strayPaymentId).toMatch(/^stp_/);
    expect((await desk.record(sent, outcomes.completed('t-2'))).order?.status).toBe(OrderStatus.COMPLETED);
    expect(await desk.strays(merchantId)).toMatchObject([{ kind: StrayPaymentKind.LATE }]);
  });

  test('debited a second time for a COMPLETED order is LATE', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.completed('t-1'));
    await desk.makeDue(payment);

    const { order, strayPaymentId } = await desk.settle(payment, outcomes.completed('t-2'));

    expect(order).toMatchObject({ status: OrderStatus.COMPLETED, deducted: '100.50' });
    expect(await desk.strays(merchantId)).toMatchObject([
      {
        strayPaymentId,
        providerTransactionId: transactionOf(merchantId, 't-2'),
        kind: StrayPaymentKind.LATE,
      },
    ]);
    expect((await desk.story(payment)).providerTransactionId).toBe(transactionOf(merchantId, 't-1'));
  });

  test('told again of a COMPLETED order by the same transaction is the order’s own', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.completed('t-1'));
    await desk.makeDue(payment);

    expect((await desk.settle(payment, outcomes.completed('t-1'))).strayPaymentId).toBe('');
    expect(await desk.strays(merchantId)).toEqual([]);
  });
});

describe('the way back', () => {
  test('is one worker’s at a time, and sent before once that one is gone', async () => {
    const { leased } = await findMoney();

    expect(leased).toMatchObject({ sentBefore: false, strayPayment: { tries: 1 } });
    expect(await leaseReversals()).toEqual([]);
    await desk.query('update core.stray_payments set due_at = now() where due_at is not null');
    const [next] = await leaseReversals();
    expect(next).toMatchObject({ sentBefore: true, strayPayment: { tries: 2 } });
    const failure = await failureOf(recordReversal(leased, { case: 'done', value: {} }));
    expect(failure).toMatchObject({ code: 'FailedPrecondition', reason: 'LEASE_LOST' });
  });

  test('is asked about until the wallet confirms, by the reference it gave', async () => {
    const { leased, payment } = await findMoney();
    await recordReversal(leased, { case: 'pending', value: { providerReference: 'rv-1', detail: 'late' } });
    await desk.query('update core.stray_payments set due_at = now() where due_at is not null');

    const [next] = await leaseReversals();
    expect(next).toMatchObject({ sentBefore: true, providerReference: 'rv-1' });
    if (next === undefined) throw new Error('not due');
    const { strayPayment } = await recordReversal(next, { case: 'done', value: {} });

    expect(strayPayment).toMatchObject({ status: StrayPaymentStatus.REVERSED, detail: '' });
    expect(await leaseReversals()).toEqual([]);
    expect((await desk.story(payment)).exchanges).toHaveLength(2);
  });

  test('that the wallet refuses waits for a person, whose order to try again is on record', async () => {
    const { leased, strayPaymentId } = await findMoney();
    const key = { merchantId, strayPaymentId };
    expect(await failureOf(desk.strayPayments.retryReversal(key))).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'REVERSAL_NOT_REFUSED',
    });
    await recordReversal(leased, {
      case: 'refused',
      value: { reason: 'account_state', detail: 'account \0 closed', definite: true },
    });
    expect(await desk.strays(merchantId)).toMatchObject([
      {
        strayPaymentId,
        refusalReason: 'account_state',
        detail: expect.stringMatching(/^account .+ closed$/),
      },
    ]);
    expect(await leaseReversals()).toEqual([]);

    const { strayPayment } = await desk.strayPayments.retryReversal(key, {
      headers: { 'x-gatehouse-actor': 'sara' },
    });
    expect(strayPayment?.refusalReason).toBe('');

    expect(await leaseReversals()).toMatchObject([
      { sentBefore: false, strayPayment: { strayPaymentId, status: StrayPaymentStatus.REVERSAL_DUE } },
    ]);
    const { entries } = await stack.client(AuditService, 'operator').listAuditEntries({ merchantId });
    expect(entries).toContainEqual(
      expect.objectContaining({ action: 'stray_payment.retry_reversal', targetId: strayPaymentId }),
    );
    expect(
      JSON.stringify(entries, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)),
    ).toContain('sara');
  });

  const makeDue = () => desk.query('update core.stray_payments set due_at = now() where due_at is not null');

  test('goes by one name at the wallet, the stray payment’s own, however often it is asked about', async () => {
    const { leased, strayPaymentId } = await findMoney();
    expect(leased.reversalId).toBe(strayPaymentId);
    await recordReversal(leased, { case: 'pending', value: { providerReference: 'rv-1' } });
    await makeDue();

    const [asked] = await leaseReversals();
    await makeDue();
    const [takenOver] = await leaseReversals();

    expect(asked).toMatchObject({ sentBefore: true, reversalId: strayPaymentId });
    expect(takenOver).toMatchObject({ sentBefore: true, reversalId: strayPaymentId });
  });

  test('tried again after a definite no goes by a new name each time, which it keeps', async () => {
    const { leased, strayPaymentId } = await findMoney();
    const key = { merchantId, strayPaymentId };
    await recordReversal(leased, { case: 'pending', value: { providerReference: 'rv-1' } });
    await makeDue();
    const [asked] = await leaseReversals();
    if (asked === undefined) throw new Error('not due');
    await recordReversal(asked, refused(true));
    await desk.strayPayments.retryReversal(key);

    const [second] = await leaseReversals();
    if (second === undefined) throw new Error('not due');
    await makeDue();
    const [again] = await leaseReversals();
    if (again === undefined) throw new Error('not due');
    await recordReversal(again, refused(true));
    await desk.strayPayments.retryReversal(key);
    const [third] = await leaseReversals();

    expect(second).toMatchObject({
      sentBefore: false,
      providerReference: '',
      reversalId: expect.stringMatching(/^stp_/),
      strayPayment: { strayPaymentId, tries: 1 },
    });
    expect(again).toMatchObject({ sentBefore: true, reversalId: second.reversalId });
    expect(third).toMatchObject({ sentBefore: false });
    expect(new Set([strayPaymentId, second.reversalId, third?.reversalId]).size).toBe(3);
  });

  test('tried again after a no that says nothing of the first request stays that request', async () => {
    const { leased, strayPaymentId } = await findMoney();
    await recordReversal(leased, refused(false));

    await desk.strayPayments.retryReversal({ merchantId, strayPaymentId });

    expect(await leaseReversals()).toMatchObject([
      { sentBefore: true, reversalId: strayPaymentId, strayPayment: { tries: 2 } },
    ]);
  });

  test.each([
    ['is with a worker', undefined, 'could send the money back twice'],
    [
      'is with the wallet',
      { case: 'pending' as const, value: { providerReference: 'rv-1' } },
      'could send the money back twice',
    ],
    ['has no known outcome', { case: 'pending' as const, value: {} }, 'could send the money back twice'],
    ['is done', { case: 'done' as const, value: {} }, 'went back'],
  ])('cannot be tried again while the last try %s', async (_name, outcome, why) => {
    const { leased, strayPaymentId } = await findMoney();
    if (outcome !== undefined) await recordReversal(leased, outcome);

    const retry = desk.strayPayments.retryReversal({ merchantId, strayPaymentId });

    await expect(retry).rejects.toThrow(why);
    expect(await failureOf(retry)).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'REVERSAL_NOT_REFUSED',
    });
    await makeDue();
    expect((await leaseReversals()).map(({ reversalId }) => reversalId)).toEqual(
      outcome?.case === 'done' ? [] : [strayPaymentId],
    );
  });

  test('tried again by ten people at once is tried again once', async () => {
    const { leased, strayPaymentId } = await findMoney();
    await recordReversal(leased, refused(true));

    const tries = await Promise.allSettled(
      Array.from({ length: 10 }, () => desk.strayPayments.retryReversal({ merchantId, strayPaymentId })),
    );

    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await leaseReversals()).toHaveLength(1);
  });

  test('told of twice under one lease changes nothing more', async () => {
    const { leased, strayPaymentId } = await findMoney();
    await recordReversal(leased, refused(true));
    await desk.strayPayments.retryReversal({ merchantId, strayPaymentId });

    // The answer to the first was lost, and its repeat comes after somebody had it tried again.
    await recordReversal(leased, refused(true));

    const [next] = await leaseReversals();
    if (next === undefined) throw new Error('the retry was undone');
    const done = await recordReversal(next, { case: 'done', value: {} });
    expect(await recordReversal(next, { case: 'pending', value: {} })).toEqual(done);
  });

  test('is listed by the order it was meant for', async () => {
    const { strayPaymentId, payment } = await findMoney();
    const other = await desk.startDirect({ merchantId, orderNumber: 'another' });
    await desk.settle(other, outcomes.completed('t-2', '99.00'));

    const { orderId } = payment;
    const { strayPayments } = await desk.strayPayments.listStrayPayments({ merchantId, orderId });
    const none = await desk.strayPayments.listStrayPayments({
      merchantId,
      orderId: publicId('ord', '01900000-0000-7000-8000-000000000000'),
    });

    expect(strayPayments.map((stray) => stray.strayPaymentId)).toEqual([strayPaymentId]);
    expect(none.strayPayments).toEqual([]);
    expect(await failureOf(desk.strayPayments.listStrayPayments({ orderId: merchantId }))).toMatchObject({
      code: 'InvalidArgument',
      issues: { order_id: expect.any(String) },
    });
  });

  test('of a stray payment that does not exist is NOT_FOUND', async () => {
    const strayPaymentId = publicId('stp', '01900000-0000-7000-8000-000000000000');

    const failure = await failureOf(desk.strayPayments.retryReversal({ merchantId, strayPaymentId }));

    expect(failure).toMatchObject({ code: 'NotFound', reason: 'STRAY_PAYMENT_NOT_FOUND' });
  });
});

describe('an order past its session', () => {
  const settled = (payment: { merchantId: string; orderId: string; attemptId: string }) =>
    waitUntil('the order has ended', async () => {
      const { order } = await desk.story(payment);
      return order !== undefined && order.status !== OrderStatus.PENDING && order;
    });

  test.each([
    ['SENT', outcomes.pending()],
    ['UNKNOWN', outcomes.unknown()],
  ])(
    'waits for the wallet while its attempt is %s, and then a hosted one expires at once',
    async (_name, word) => {
      const hosted = await desk.registerHosted({ merchantId });
      const payment = await desk.payHosted(hosted);
      await desk.settle(payment, word);
      await desk.endSession(payment);
      await waitUntil('the sweep has looked at it', async () => {
        const rows = await desk.query(
          'select 1 from core.orders where sweep_at > now() and expires_at <= now()',
        );
        return rows.length > 0;
      });
      expect((await desk.story(payment)).order?.status).toBe(OrderStatus.PENDING);

      await desk.makeDue(payment);
      await desk.settle(payment, outcomes.declined());

      // Well before the sweep would have looked again.
      expect((await settled(payment)).status).toBe(OrderStatus.EXPIRED);
      expect(await desk.history(hosted)).toEqual([
        '1 CREATED',
        '2 PAYMENT_STARTED',
        '3 PAYMENT_DECLINED',
        '4 EXPIRED',
      ]);
    },
  );

  test('is COMPLETED when the wallet says so, however late', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.unknown());
    await desk.endSession(payment);
    await desk.makeDue(payment);

    expect((await desk.settle(payment, outcomes.completed('t-1'))).order?.status).toBe(OrderStatus.COMPLETED);
  });

  test('ends although no wallet was ever reached: the report of it ends the attempt', async () => {
    const payment = await desk.startDirect({ merchantId });
    const taken = await desk.take(payment);
    await desk.endSession(payment);

    const { order } = await desk.record(taken, outcomes.notReached());

    expect(order?.status).toBe(OrderStatus.FAILED);
    expect(await desk.lease()).toEqual([]);
  });

  test('ends although no wallet was ever reached, instead of being sent once the wallet is back', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.notReached());
    await desk.endSession(payment);
    await desk.makeDue(payment);

    expect(await desk.lease()).toEqual([]);

    expect((await settled(payment)).status).toBe(OrderStatus.FAILED);
    await desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: payment.attemptId });
    expect(await desk.lease()).toEqual([]);
  });
});
