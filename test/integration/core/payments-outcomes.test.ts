import { beforeEach, describe, expect, test } from '@jest/globals';
import { timestampDate, durationFromMs } from '@bufbuild/protobuf/wkt';
import { OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { duringChange } from '../../support/database-connections.ts';
import { storedId } from '../../support/ids.ts';
import { wrongFields } from '../../support/rpc-failure.ts';
import { outcomes, transactionOf, sharedPaymentDesk, useOf } from './payment-desk.ts';
import type { PaymentDesk, Payment, Outcome } from './payment-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

let merchantId: string;

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

const secondsUntil = (time: Parameters<typeof timestampDate>[0] | undefined): number =>
  time === undefined ? NaN : (timestampDate(time).getTime() - Date.now()) / 1000;

describe('the wallet’s answer about a direct payment', () => {
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

  test('completed by the transaction of another order: its outcome is unknown, because a transaction pays once', async () => {
    const [first, second] = ['O-1', 'O-2'].map((orderNumber) => ({ merchantId, orderNumber }));
    await desk.settle(await desk.startDirect(first!), outcomes.completed('t-1', '100.5'));
    const payment = await desk.startDirect(second!);

    const recorded = await desk.settle(payment, outcomes.completed('t-1', '100.5'));

    expect(recorded).toMatchObject({
      order: { status: OrderStatus.PENDING },
      paymentAttempt: { status: PaymentAttemptStatus.UNKNOWN },
      strayPaymentId: '',
    });
    expect((await desk.story(payment)).providerTransactionId).toBe('');
  });

  test('completed by one transaction for several orders at once: it pays one of them', async () => {
    const payments = await Promise.all(
      ['O-1', 'O-2', 'O-3', 'O-4'].map((orderNumber) => desk.startDirect({ merchantId, orderNumber })),
    );
    const leases = await desk.lease();
    expect(leases).toHaveLength(payments.length);

    const recorded = await Promise.all(
      leases.map((lease) => desk.record(lease, outcomes.completed('t-1', '100.5'))),
    );

    const statuses = recorded.map(({ paymentAttempt }) => paymentAttempt?.status);
    const { SUCCEEDED, UNKNOWN } = PaymentAttemptStatus;
    expect(statuses.toSorted()).toEqual([SUCCEEDED, UNKNOWN, UNKNOWN, UNKNOWN].toSorted());
  });

  test('completed by a transaction that another core records for another order meanwhile: its outcome is unknown', async () => {
    const payments = [
      await desk.startDirect({ merchantId, orderNumber: 'O-1' }),
      await desk.startDirect({ merchantId, orderNumber: 'O-2' }),
    ];
    const leases = await desk.lease();
    const own = leases.find(
      ({ paymentAttempt }) => paymentAttempt?.paymentAttemptId === payments[0]?.attemptId,
    );
    const useForOther = useOf(transactionOf(merchantId, 't-1'), payments[1]!);

    const recorded = await duringChange(stack.databaseUrl, useForOther, () =>
      desk.record(own!, outcomes.completed('t-1', '100.5')),
    );

    expect(recorded.paymentAttempt?.status).toBe(PaymentAttemptStatus.UNKNOWN);
  });

  test('pending: nothing changes, the reference is kept, and the wallet is queried again in 2 s', async () => {
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

  test('not reached: it is sent again as if it had never been sent, until the wallet may have got the request', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.notReached());
    await desk.makeDue(payment);
    const again = await desk.take(payment);
    expect(again).toMatchObject({ sentBefore: false, leases: 2 });

    await desk.record(again, outcomes.unknown());
    await desk.makeDue(payment);
    const taken = await desk.take(payment);

    expect(taken.sentBefore).toBe(true);
    expect(await wrongFields(desk.record(taken, outcomes.notReached()))).toBe('not_reached');
  });
});

const hasten = (
  { attemptId: paymentAttemptId }: Payment,
  exchange?: Parameters<PaymentDesk['payments']['hastenPaymentAttempt']>[0]['exchange'],
) => desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId, ...(exchange && { exchange }) });

describe('the same outcome recorded twice under one lease', () => {
  const exchange = { purpose: 'query', method: 'GET', url: 'http://wallet/requeststates/1', status: 200 };

  test.each([
    ['pending', outcomes.pending('r-1')],
    ['not reached', outcomes.notReached()],
    ['completed', outcomes.completed('t-1')],
    ['completed with another amount', outcomes.completed('t-1', '1.00')],
  ])('%s: the second call changes nothing and returns the same', async (_name, outcome) => {
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

  test('another outcome under the same lease is refused', async () => {
    const payment = await desk.startDirect({ merchantId });
    const leased = await desk.take(payment);
    await desk.record(leased, outcomes.unknown());

    await desk.record(leased, outcomes.notReached());

    await desk.makeDue(payment);
    expect((await desk.take(payment)).sentBefore).toBe(true);
  });
});

describe('a hint about an attempt', () => {
  test('makes it due at once, and the exchange that brought it is kept', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.settle(payment, outcomes.pending());

    await hasten(payment, { purpose: 'callback', method: 'PUT', requestBody: '{"status":"completed"}' });

    const story = await desk.story(payment);
    expect(story.paymentAttempt?.status).toBe(PaymentAttemptStatus.SENT);
    expect(story.exchanges).toMatchObject([{ purpose: 'callback', requestBody: '{"status":"completed"}' }]);
    expect(await desk.take(payment)).toMatchObject({ sentBefore: true });
  });

  test('that arrives during a query of the wallet causes another query after its result is recorded', async () => {
    const payment = await desk.startDirect({ merchantId });
    const leased = await desk.take(payment);
    await hasten(payment);

    expect(await desk.lease()).toEqual([]);
    await desk.record(leased, outcomes.pending('r-1'));

    expect(await desk.take(payment)).toMatchObject({ leases: 2 });
  });
});

test('the wallet’s answers are kept in order, whatever characters they have and however long their names are', async () => {
  const payment = await desk.startDirect({ merchantId });
  const responseBody = 'nul \0, an emoji 🏦, <html>';
  const exchanges = ['initiate', 'recover', 'query'].map((purpose) => ({ purpose, responseBody }));
  await desk.record(await desk.take(payment), outcomes.unknown('nul \0 inside'), exchanges);
  await desk.makeDue(payment);
  await desk.settle(payment, outcomes.pending(`\0${'r'.repeat(5_000)}`));
  await desk.makeDue(payment);
  const recorded = await desk.settle(payment, outcomes.completed(`\0${'🏦'.repeat(5_000)}`));

  expect(recorded.order?.status).toBe(OrderStatus.COMPLETED);
  const story = await desk.story(payment);
  expect(story.exchanges).toMatchObject(exchanges);
  expect(story.providerReference).toMatch(/^\uFFFDr{799}$/);
  expect(story.providerTransactionId.length).toBeLessThanOrEqual(800);
});

/** Leases an attempt, and records an outcome with one exchange for each URL. */
async function settleBy(payment: Payment, outcome: Outcome, urls: readonly string[], purpose = 'query') {
  await desk.makeDue(payment);
  const exchanges = urls.map((url) => ({ purpose, url }));
  return desk.record(await desk.take(payment), outcome, exchanges);
}

/** The wallet leaves it pending many times. Each report has at most ten of so many exchanges. */
async function leavePending(payment: Payment, count: number, name: string, purpose?: string): Promise<void> {
  const urls = Array.from({ length: count }, (_, index) => `${name}-${index}`);
  for (let done = 0; done < count; done += 10)
    await settleBy(payment, outcomes.pending('r-1'), urls.slice(done, done + 10), purpose);
}

const heard = async (payment: Payment): Promise<string[]> =>
  (await desk.story(payment)).exchanges.map(({ url, purpose, omitted }) =>
    omitted > 0 ? `${purpose} ${omitted}` : url,
  );

describe('of many exchanges with a wallet', () => {
  test('all are kept up to fifty, and then the first twenty, the latest thirty, and the number of the others', async () => {
    const payment = await desk.startDirect({ merchantId });

    await leavePending(payment, 50, 'q');
    const fifty = await heard(payment);
    const times = await desk.query(sql`select count(distinct left(id::text, 13))::int
      from core.wallet_exchanges where payment_attempt_id = ${storedId('pat', payment.attemptId)}`);
    await leavePending(payment, 70, 'later');

    expect(fifty).toEqual(Array.from({ length: 50 }, (_, index) => `q-${index}`));
    // The ten of a report have its time, so they cannot be later than the next report.
    expect(times).toEqual([{ count: 5 }]);
    const latest = Array.from({ length: 30 }, (_, index) => `later-${40 + index}`);
    expect(await heard(payment)).toEqual([...fifty.slice(0, 20), 'omitted 70', ...latest]);
  });

  test('the decisive ones and requests to pay are kept too', async () => {
    const payment = await desk.startDirect({ merchantId });
    await leavePending(payment, 24, 'early');
    await settleBy(payment, outcomes.unknown(), ['sent-again'], 'initiate');
    await leavePending(payment, 6, 'pending');
    await settleBy(payment, outcomes.declined(), ['said-no']);
    await leavePending(payment, 40, 'no');
    await settleBy(payment, outcomes.completed('t-1'), ['said-paid']);

    await leavePending(payment, 40, 'late');

    const kept = await heard(payment);
    expect(kept.filter((url) => /^(sent|said|omitted)/.test(url))).toEqual([
      'omitted 60',
      'sent-again',
      'said-no',
      'said-paid',
    ]);
    const { exchanges } = await desk.story(payment);
    expect(exchanges.filter(({ decisive }) => decisive).map(({ url }) => url)).toEqual([
      'said-no',
      'said-paid',
    ]);
  });

  test('the first fifty requests among the others are kept', async () => {
    const payment = await desk.startDirect({ merchantId });
    await leavePending(payment, 20, 'early');
    await leavePending(payment, 60, 'sent-again', 'reverse');
    await leavePending(payment, 30, 'late');

    const sent = Array.from({ length: 50 }, (_, index) => `sent-again-${index}`);
    expect((await heard(payment)).slice(20, 71)).toEqual([...sent, 'omitted 10']);
  });

  test('none can declare itself decisive or a placeholder', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.makeDue(payment);

    await desk.record(await desk.take(payment), outcomes.pending('r-1'), [{ decisive: true, omitted: 7 }]);

    expect((await desk.story(payment)).exchanges).toMatchObject([{ decisive: false, omitted: 0 }]);
  });
});

test('a wallet that asks for fewer requests is queried when the requested time has passed', async () => {
  const payment = await desk.startDirect({ merchantId });
  const { leaseId } = await desk.take(payment);
  const before = Date.now();

  const { dueTime } = await desk.payments.recordPaymentOutcome({
    ...{ merchantId, paymentAttemptId: payment.attemptId, leaseId, outcome: outcomes.unknown('429') },
    retryAfter: durationFromMs(60_000),
  });

  expect(timestampDate(dueTime!).getTime() - before).toBeGreaterThanOrEqual(60_000);
});
