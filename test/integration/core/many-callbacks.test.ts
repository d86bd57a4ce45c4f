import { fromBinary } from '@bufbuild/protobuf';
import type { CallOptions } from '@connectrpc/connect';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { holdLocks } from '../../support/database-connections.ts';
import { storedId } from '../../support/ids.ts';
import { WalletExchangeSchema } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { menuPayment, outcomes, sharedPaymentDesk, transactionOf } from './payment-desk.ts';
import type { Outcome, Payment } from './payment-desk.ts';

// A callback causes a query of the wallet, so a flood of them must not become a flood of queries.

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);

let merchantId: string;
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

/** A payment, reversal or refund whose outcome only the wallet knows, and that a callback may be about. */
interface Undecided {
  readonly table: string;
  /** The stored id. */
  readonly id: string;
  /** The merchant's and the own stored id of the attempt or payment that has the exchanges. */
  readonly exchangesOf: readonly [merchantId: string, id: string];
  readonly hasten: (options?: CallOptions) => Promise<unknown>;
  /** Another call on the connection of `hasten`, which waits for nothing. */
  readonly touch: () => Promise<unknown>;
}

const callback = { exchange: { purpose: 'callback' }, callbackNote: '' };
const ownExchanges = (attemptId: string) =>
  [storedId('mer', merchantId), storedId('pat', attemptId)] as const;

const hastenAttempt = ({ attemptId: paymentAttemptId }: Payment, options?: CallOptions) =>
  desk.payments.hastenPaymentAttempt({ merchantId, paymentAttemptId, ...callback }, options);

/** An attempt that its wallet left pending or declined. */
const attempt = (outcome: Outcome) => async (): Promise<Undecided> => {
  const payment = await desk.startDirect({ merchantId });
  await desk.settle(payment, outcome);
  return {
    table: 'payment_attempts',
    id: storedId('pat', payment.attemptId),
    exchangesOf: ownExchanges(payment.attemptId),
    hasten: (options) => hastenAttempt(payment, options),
    touch: () => desk.story(payment),
  };
};
/** A payment that its payer started. The callback is one about its id, or another report of the wallet. */
const payerPayment = (isReport: boolean) => async (): Promise<Undecided> => {
  const report = menuPayment(merchantId, 'none');
  const payerPaymentId = await desk.reportFromMenu(merchantId, 'none');
  const id = storedId('ppm', payerPaymentId);
  return {
    table: 'payer_payments',
    id,
    exchangesOf: ['00000000-0000-0000-0000-000000000000', id],
    hasten: (options) =>
      isReport
        ? desk.payers.reportPayerPayment({ ...report, exchange: callback.exchange }, options)
        : desk.payers.hastenPayerPayment({ payerPaymentId, ...callback }, options),
    touch: () => desk.payers.validatePayerPayment(report),
  };
};

const subjects: Readonly<Record<string, () => Promise<Undecided>>> = {
  attempt: attempt(outcomes.pending('r-1')),
  'declined attempt': attempt(outcomes.declined()),
  async refund() {
    const payment = await desk.startDirect({ merchantId, orderNumber: 'D-1' });
    await desk.settle(payment, outcomes.completed('t-1'));
    const { refundId } = await desk.refund(merchantId, 'D-1');
    return {
      table: 'refunds',
      id: storedId('rfd', refundId),
      exchangesOf: ownExchanges(payment.attemptId),
      hasten: (options) => desk.refundWork.hastenRefund({ merchantId, refundId, ...callback }, options),
      touch: () => desk.leaseRefunds(1, [merchantId]),
    };
  },
  async reversal() {
    const payment = await desk.startDirect({ merchantId });
    const { strayPaymentId: reversalId } = await desk.settle(payment, outcomes.completed('t-1', '99.00'));
    return {
      table: 'stray_payments',
      id: storedId('stp', reversalId),
      exchangesOf: ownExchanges(payment.attemptId),
      hasten: (options) => desk.reversals.hastenReversal({ merchantId, reversalId, ...callback }, options),
      touch: () => desk.leaseReversals(1, [merchantId]),
    };
  },
  'payment that its payer started': payerPayment(false),
  'payment that its wallet reports again': payerPayment(true),
};

/** Adds exchanges with the wallet. Their time is in the future, so that they stay recent on a slow machine. */
const addExchanges = ({ exchangesOf: [merchant, owner] }: Undecided, count: number) =>
  desk.query(sql`insert into core.wallet_exchanges (merchant_id, payment_attempt_id, id, payload)
    select ${merchant}, ${owner}, uuidv7(interval '1 hour'), '' from generate_series(1, ${count}::int)`);

const exchangesOf = async ({ exchangesOf: [merchant, owner] }: Undecided) =>
  (
    await desk.query<{ payload: Buffer }>(sql`select payload from core.wallet_exchanges
      where merchant_id = ${merchant} and payment_attempt_id = ${owner} order by id`)
  ).map(({ payload }) => fromBinary(WalletExchangeSchema, payload));

const setDue = ({ table, id }: Undecided, due: string) =>
  desk.query(`update core.${table} set due_at = now() + $2::interval where id = $1`, [id, due]);

/** A subject whose next query is due then, after this many recent exchanges. */
async function started(start: () => Promise<Undecided>, due: string, exchanges: number): Promise<Undecided> {
  const subject = await start();
  await setDue(subject, due);
  await addExchanges(subject, exchanges);
  return subject;
}

const clock = async (): Promise<number> =>
  (await desk.query<{ now: Date }>('select now() as now'))[0]?.now.getTime() ?? 0;

/** Sends a callback, and returns the earliest and latest number of milliseconds until the next query. */
async function waitAfterCallback(subject: Undecided): Promise<[min: number, max: number]> {
  const before = await clock();
  await subject.hasten();
  const after = await clock();
  const [row] = await desk.query<{ due_at: Date }>(`select due_at from core.${subject.table} where id = $1`, [
    subject.id,
  ]);
  const dueAt = row?.due_at.getTime() ?? 0;
  return [dueAt - after, dueAt - before];
}

describe.each(Object.entries(subjects))('a callback about a %s', (_what, start) => {
  test('makes its query due at once', async () => {
    const subject = await started(start, '1 hour', 18);

    const [min, max] = await waitAfterCallback(subject);

    expect(min).toBeLessThanOrEqual(0);
    expect(max).toBeGreaterThanOrEqual(0);
  });

  test('after twenty recent exchanges makes its query due in ten seconds, and a repeat adds no delay', async () => {
    const subject = await started(start, '1 hour', 20);

    const [min, max] = await waitAfterCallback(subject);
    const [, repeated] = await waitAfterCallback(subject);

    expect(min).toBeLessThanOrEqual(10_000);
    expect(max).toBeGreaterThanOrEqual(10_000);
    expect(repeated).toBeLessThanOrEqual(max);
  });

  test('after twenty recent exchanges is counted and not stored', async () => {
    const subject = await started(start, '1 hour', 20);
    const before = await exchangesOf(subject);

    for (let count = 0; count < 7; count += 1) await subject.hasten();

    const after = await exchangesOf(subject);
    expect(after).toHaveLength(before.length + 1);
    expect(after.map(({ omitted }) => omitted).filter((omitted) => omitted > 0)).toEqual([7]);
  });

  test('does not delay a query that is due', async () => {
    const subject = await started(start, '-1 second', 20);

    const [, max] = await waitAfterCallback(subject);

    expect(max).toBeLessThanOrEqual(0);
  });
});

/** Holds everything that a callback about a subject may wait for. Returns how to release it. */
const hold = () => {
  const id = storedId('mer', merchantId);
  return holdLocks(
    stack.databaseUrl,
    sql`
      with orders as (select id from core.orders where merchant_id = ${id} for update),
        strays as (select id from core.stray_payments where merchant_id = ${id} for update),
        payers as (select id from core.payer_payments where provider_transaction_id = ${transactionOf(merchantId, 'none')} for update)
      select from orders full join strays using (id) full join payers using (id)`,
  );
};

const waitForCalls = (count: number) =>
  waitUntil(`${count} calls wait with a connection`, async () => (await desk.lockWaits()) >= count);

/** Makes calls that wait for what `hold` holds, and meanwhile payments of another merchant. Returns the calls that failed. */
async function payMeanwhile(call: (index: number) => Promise<unknown>, count: number) {
  const { id: otherId } = await stack.createMerchant();
  const release = await hold();
  const calls = Promise.allSettled(Array.from({ length: count }, (_, index) => call(index)));
  try {
    await waitForCalls(3);
    for (let index = 0; index < 5; index += 1)
      await desk.startDirect({ merchantId: otherId, orderNumber: `O-${index}` });
  } finally {
    await release();
  }
  return (await calls).filter(({ status }) => status === 'rejected');
}

describe.each(Object.entries(subjects))('while another transaction holds a %s', (_what, start) => {
  test('many callbacks about it leave connections for other merchants', async () => {
    const { hasten } = await start();

    expect(await payMeanwhile(() => hasten(), 60)).toEqual([]);
  });

  test('callbacks whose callers have left are not stored', async () => {
    const subject = await start();
    const release = await hold();
    const caller = new AbortController();
    const left = Promise.allSettled(
      Array.from({ length: 60 }, () => subject.hasten({ signal: caller.signal })),
    );
    await waitForCalls(3);
    caller.abort();
    await left;
    // Core reads a connection in its order. So it knows now that the callers have left.
    await subject.touch();
    const stays = subject.hasten();
    await release();
    await stays;

    const stored = await exchangesOf(subject);
    expect(stored.reduce((sum, { omitted }) => sum + Math.max(omitted, 1), 0)).toBeLessThan(10);
  });
});

test('outcomes of many refunds of one order leave connections for other merchants', async () => {
  const payment = await desk.startDirect({ merchantId, orderNumber: 'D-1' });
  await desk.settle(payment, outcomes.completed('t-1'));
  for (let index = 0; index < 24; index += 1)
    await desk.refund(merchantId, 'D-1', { refundNumber: `R-${index}`, amount: '1.00' });
  const leased = await desk.leaseRefunds();
  expect(leased).toHaveLength(24);

  const failed = await payMeanwhile(
    (index) => desk.recordRefund(leased[index]!, { case: 'done', value: {} }),
    leased.length,
  );

  expect(failed).toEqual([]);
});

test('an endless series of callbacks causes about ten queries, and then one every ten seconds', async () => {
  const payment = await desk.startDirect({ merchantId });
  await desk.settle(payment, outcomes.pending('r-1'));
  let queries = 0;
  for (let count = 0; count < 60; count += 1) {
    await hastenAttempt(payment);
    // The exchanges stay recent on a slow machine.
    await desk.query(sql`update core.wallet_exchanges set id = uuidv7(interval '1 hour')
      where payment_attempt_id = ${storedId('pat', payment.attemptId)} and id < uuidv7()`);
    const [leased] = await desk.lease();
    if (leased === undefined) continue;
    queries += 1;
    await desk.record(leased, outcomes.pending('r-1'), [{ purpose: 'query' }]);
    await desk.query(sql`update core.payment_attempts set due_at = now() + interval '1 hour'
      where id = ${storedId('pat', payment.attemptId)}`);
  }

  expect(queries).toBeGreaterThanOrEqual(5);
  expect(queries).toBeLessThanOrEqual(11);
  const { exchanges } = await desk.story(payment);
  expect(exchanges.length).toBeLessThanOrEqual(22);
  expect(exchanges.reduce((sum, { omitted }) => sum + Math.max(omitted, 1), 0)).toBe(60 + queries);
});

test('callbacks about an attempt and its reversal at once are all counted, in few entries', async () => {
  const payment = await desk.startDirect({ merchantId });
  const { strayPaymentId: reversalId } = await desk.settle(payment, outcomes.completed('t-1', '99.00'));

  await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      index % 2 === 0
        ? hastenAttempt(payment)
        : desk.reversals.hastenReversal({ merchantId, reversalId, ...callback }),
    ),
  );

  const { exchanges } = await desk.story(payment);
  expect(exchanges.reduce((sum, { omitted }) => sum + Math.max(omitted, 1), 0)).toBe(100);
  expect(exchanges.length).toBeLessThanOrEqual(52);
});

test('callbacks are stored again when ten seconds have passed without one', async () => {
  const payment = await desk.startDirect({ merchantId });
  await desk.settle(payment, outcomes.pending('r-1'));
  for (let count = 0; count < 25; count += 1) await hastenAttempt(payment);
  // As if ten seconds had passed.
  await desk.query(sql`
    update core.wallet_exchanges set id = uuidv7(interval '-10 seconds' - (now() - uuid_extract_timestamp(id)))
    where payment_attempt_id = ${storedId('pat', payment.attemptId)}`);

  await hastenAttempt(payment);

  const { exchanges } = await desk.story(payment);
  expect(exchanges.at(-1)?.purpose).toBe('callback');
});
