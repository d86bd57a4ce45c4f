import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { failureOf } from '../../support/rpc-failure.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { openPaymentDesk, outcomes, transactionOf } from './payment-desk.ts';
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

const secondsUntil = (time: Parameters<typeof timestampDate>[0] | undefined): number =>
  time === undefined ? NaN : (timestampDate(time).getTime() - Date.now()) / 1000;

describe('what a wallet said of a direct payment', () => {
  test('completed: the order is COMPLETED with what was debited, and nothing is due any more', async () => {
    const payment = await desk.startDirect({ merchantId });

    const recorded = await desk.settle(payment, outcomes.completed('t-1', '100.5'));

    expect(recorded).toMatchObject({
      order: { status: OrderStatus.COMPLETED, deducted: '100.50' },
      paymentAttempt: { status: PaymentAttemptStatus.SUCCEEDED },
      strayPaymentId: '',
    });
    expect(recorded.dueTime).toBeUndefined();
    expect((await desk.story(payment)).providerTransactionId).toBe(transactionOf(payment.merchantId, 't-1'));
    expect(await desk.history(payment)).toEqual(['1 CREATED', '2 PAYMENT_STARTED', '3 COMPLETED']);
  });

  test('pending: nothing changes, the reference is kept, and the wallet is asked again in 2 s', async () => {
    const payment = await desk.startDirect({ merchantId });

    const recorded = await desk.settle(payment, outcomes.pending('r-1'));

    expect(recorded).toMatchObject({
      order: { status: OrderStatus.PENDING },
      paymentAttempt: { status: PaymentAttemptStatus.SENT },
    });
    expect(secondsUntil(recorded.dueTime)).toBeLessThanOrEqual(2);
    expect(secondsUntil(recorded.dueTime)).toBeGreaterThan(0);
    await desk.makeDue(payment);
    expect(await desk.take(payment)).toMatchObject({ sentBefore: true, providerReference: 'r-1', leases: 2 });
    expect(await desk.history(payment)).toEqual(['1 CREATED', '2 PAYMENT_STARTED']);
  });

  test('declined: the order is FAILED for that reason', async () => {
    const payment = await desk.startDirect({ merchantId });

    const recorded = await desk.settle(payment, outcomes.declined('wrong_pin'));

    expect(recorded).toMatchObject({
      order: { status: OrderStatus.FAILED, deducted: '0.00' },
      paymentAttempt: { status: PaymentAttemptStatus.DECLINED, declineReason: 'wrong_pin' },
    });
    expect(recorded.dueTime).toBeUndefined();
    expect(await desk.history(payment)).toEqual(['1 CREATED', '2 PAYMENT_STARTED', '3 FAILED']);
  });

  test('timed out: the order is FAILED', async () => {
    const payment = await desk.startDirect({ merchantId });

    const recorded = await desk.settle(payment, outcomes.timedOut());

    expect(recorded).toMatchObject({
      order: { status: OrderStatus.FAILED },
      paymentAttempt: { status: PaymentAttemptStatus.TIMED_OUT },
    });
  });

  test('unknown: the attempt is UNKNOWN, the order waits, and any definite word later still counts', async () => {
    const payment = await desk.startDirect({ merchantId });

    const recorded = await desk.settle(payment, outcomes.unknown());

    expect(recorded).toMatchObject({
      order: { status: OrderStatus.PENDING },
      paymentAttempt: { status: PaymentAttemptStatus.UNKNOWN },
    });
    await desk.makeDue(payment);
    const taken = await desk.take(payment);
    expect(taken.sentBefore).toBe(true);
    expect((await desk.record(taken, outcomes.completed('t-1'))).order?.status).toBe(OrderStatus.COMPLETED);
  });

  test('not reached: it is sent anew, as if it never had been, however often', async () => {
    const payment = await desk.startDirect({ merchantId });

    for (let leases = 1; leases <= 3; leases += 1) {
      const taken = await desk.take(payment);
      expect(taken).toMatchObject({ sentBefore: false, leases });
      const { order, paymentAttempt } = await desk.record(taken, outcomes.notReached());
      expect(order?.status).toBe(OrderStatus.PENDING);
      expect(paymentAttempt?.status).toBe(PaymentAttemptStatus.SENT);
      await desk.makeDue(payment);
    }
  });

  test.each([
    ['an earlier answer', async (): Promise<void> => {}],
    ['a worker that died', (payment: Parameters<PaymentDesk['lapse']>[0]) => desk.lapse(payment)],
  ])('not reached is refused after %s: the wallet may have been asked then', async (first, after) => {
    const payment = await desk.startDirect({ merchantId });
    const sent = await desk.take(payment);
    if (first === 'an earlier answer') await desk.record(sent, outcomes.unknown());
    else await after(payment);
    await desk.makeDue(payment);
    const taken = await desk.take(payment);

    const failure = await failureOf(desk.record(taken, outcomes.notReached()));

    expect(failure).toMatchObject({ code: 'InvalidArgument', reason: 'INVALID_FIELDS' });
    expect(Object.keys(failure.issues)).toEqual(['not_reached']);
    await desk.lapse(payment);
    expect((await desk.take(payment)).sentBefore).toBe(true);
  });

  test('the later it gets, the less often the wallet is asked, and once at the end of the session', async () => {
    const payment = await desk.startDirect({ merchantId });
    const waits: number[] = [];
    for (let look = 0; look < 9; look += 1) {
      const { dueTime } = await desk.settle(payment, outcomes.pending());
      waits.push(Math.ceil(secondsUntil(dueTime)));
      await desk.makeDue(payment);
    }
    await desk.query(`update core.orders set expires_at = now() + interval '1.5 seconds' where merchant_id in
      (select merchant_id from core.payment_attempts where due_at is not null)`);

    const atEnd = await desk.settle(payment, outcomes.pending());

    expect(waits).toEqual([2, 3, 3, 5, 5, 10, 15, 30, 30]);
    expect(secondsUntil(atEnd.dueTime)).toBeLessThanOrEqual(1.5);
  });
});

describe('the same outcome recorded twice under one lease', () => {
  const exchange = { purpose: 'query', method: 'GET', url: 'http://wallet/requeststates/1', status: 200 };

  test.each([
    ['pending', outcomes.pending('r-1')],
    ['unknown', outcomes.unknown()],
    ['not reached', outcomes.notReached()],
    ['completed', outcomes.completed('t-1')],
    ['completed with another amount', outcomes.completed('t-1', '1.00')],
    ['declined', outcomes.declined()],
    ['timed out', outcomes.timedOut()],
  ])('%s: changes nothing more and answers the same', async (_name, outcome) => {
    const payment = await desk.startDirect({ merchantId });
    const leased = await desk.take(payment);
    const first = await desk.record(leased, outcome, [exchange]);
    const before = await desk.story(payment);

    const second = await desk.record(leased, outcome, [exchange]);

    expect(second).toEqual(first);
    expect(await desk.story(payment)).toEqual(before);
    expect(before.exchanges).toHaveLength(1);
    expect(await desk.strays(merchantId)).toHaveLength(first.strayPaymentId === '' ? 0 : 1);
  });

  test('another word under the same lease is not taken either', async () => {
    const payment = await desk.startDirect({ merchantId });
    const leased = await desk.take(payment);
    await desk.record(leased, outcomes.unknown());

    await desk.record(leased, outcomes.notReached());

    await desk.makeDue(payment);
    expect((await desk.take(payment)).sentBefore).toBe(true);
  });
});

describe('news of an attempt', () => {
  test('make it due at once, and the exchange that brought them is kept', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.pending());

    await desk.payments.hastenPaymentAttempt({
      merchantId,
      paymentAttemptId: payment.attemptId,
      exchange: { purpose: 'callback', method: 'PUT', requestBody: '{"status":"completed"}' },
    });

    const story = await desk.story(payment);
    expect(story.paymentAttempt?.status).toBe(PaymentAttemptStatus.SENT);
    expect(story.exchanges).toMatchObject([{ purpose: 'callback', requestBody: '{"status":"completed"}' }]);
    expect(await desk.take(payment)).toMatchObject({ sentBefore: true });
  });

  test('that come while somebody asks the wallet are heard once that is recorded', async () => {
    const payment = await desk.startDirect({ merchantId });
    const leased = await desk.take(payment);
    await desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: payment.attemptId });

    expect(await desk.lease()).toEqual([]);
    await desk.record(leased, outcomes.pending('r-1'));

    expect(await desk.take(payment)).toMatchObject({ leases: 2 });
  });

  test('have an attempt looked at again that the wallet had declined, and its money is found', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.declined());

    await desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: payment.attemptId });
    const recorded = await desk.settle(payment, outcomes.completed('t-1'));

    expect(recorded).toMatchObject({
      order: { status: OrderStatus.FAILED, deducted: '0.00' },
      paymentAttempt: { status: PaymentAttemptStatus.DECLINED },
      strayPaymentId: expect.stringMatching(/^stp_/),
    });
    expect(recorded.dueTime).toBeUndefined();
  });

  test('of a successful attempt change nothing but the record of what was heard', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.completed('t-1'));

    await desk.payments.hastenPaymentAttempt({
      merchantId,
      paymentAttemptId: payment.attemptId,
      exchange: {},
    });

    expect(await desk.lease()).toEqual([]);
    expect((await desk.story(payment)).exchanges).toHaveLength(1);
  });
});

describe('what the wallet answered', () => {
  test('is kept in order, whatever bytes it holds', async () => {
    const payment = await desk.startDirect({ merchantId });
    const leased = await desk.take(payment);
    const exchanges = ['initiate', 'recover', 'query'].map((purpose) => ({
      purpose,
      responseBody: 'nul \0, an emoji 🏦, <html>',
    }));

    await desk.record(leased, outcomes.unknown('nul \0 inside'), exchanges);

    expect((await desk.story(payment)).exchanges).toMatchObject(exchanges);
  });

  test('may name things with any characters and of any length', async () => {
    const payment = await desk.startDirect({ merchantId });

    await desk.settle(payment, outcomes.pending(`\0${'r'.repeat(5_000)}`));
    await desk.makeDue(payment);
    const recorded = await desk.settle(payment, outcomes.completed(`\0${'🏦'.repeat(5_000)}`));

    expect(recorded.order?.status).toBe(OrderStatus.COMPLETED);
    const { providerReference, providerTransactionId } = await desk.story(payment);
    expect(providerReference).toMatch(/^\uFFFDr{799}$/);
    expect(providerTransactionId.length).toBeLessThanOrEqual(800);
  });
});
