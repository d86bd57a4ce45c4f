import { durationMs } from '@bufbuild/protobuf/wkt';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { storedId, publicId } from '../../support/ids.ts';
import { Environment, PaymentAttemptStatus, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import type { Payment, Outcome } from './payment-desk.ts';
import { damageRow } from './damaged-row.ts';
import { beginRecovery, endRecoveries, holdRecoveries } from './held-recoveries.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { StrayPaymentStatus } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';

let merchantId: string;

const stack = sharedStack({ cores: 2, facades: 0 });
const desk = sharedPaymentDesk(stack);
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

const storedAttempt = async ({ attemptId }: Payment) => {
  const [row] = await desk.query<{ status: string; leases: number; due_at: Date | null }>(sql`
    select status, leases, due_at from core.payment_attempts where id = ${storedId('pat', attemptId)}`);
  return row;
};

/** A lease of one minute, by default of wallet A's USSD. */
const lease = (own: object = {}) =>
  desk.payments.leasePaymentAttempts({
    ...{ environment: Environment.SANDBOX, paymentOptions: ['walleta_ussd'] },
    ...{ maxAttempts: 10, lease: { seconds: 60n } },
    ...own,
  });
const leaseIds = async (own: object = {}): Promise<string[]> =>
  (await lease(own)).attempts.map(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId ?? '');

describe('leasing an attempt', () => {
  test('returns all that the request to the wallet needs, and marks the attempt SENT', async () => {
    const payment = await desk.startDirect({ merchantId });

    const leased = await desk.take(payment);

    expect(leased).toMatchObject({
      merchantId,
      environment: Environment.SANDBOX,
      amount: '100.50',
      currency: 'ETB',
      orderNumber: 'D-1',
      sentBefore: false,
      providerReference: '',
      leases: 1,
      paymentAttempt: { status: PaymentAttemptStatus.SENT, phone: '+251911223344' },
    });
    expect(await storedAttempt(payment)).toMatchObject({ status: 'SENT', leases: 1 });
    expect(await desk.history(payment)).toEqual(['1 CREATED', '2 PAYMENT_STARTED']);
  });

  test.each([
    ['orders', 'read'],
    ['payment_attempts', 'changed'],
  ] as const)('continues although an earlier row of %s cannot be %s', async (table, how) => {
    const damaged = await desk.startDirect({ merchantId });
    const id = table === 'orders' ? storedId('ord', damaged.orderId) : storedId('pat', damaged.attemptId);
    const repair = await damageRow(desk.query, table, id, how);
    const later = [
      await desk.startDirect({ merchantId, orderNumber: 'D-2' }),
      await desk.startDirect({ merchantId, orderNumber: 'D-3' }),
    ];

    const leased: string[] = [];
    await waitUntil('the others are leased', async () => {
      leased.push(...(await leaseIds({ maxAttempts: 2 })));
      return leased.length === later.length;
    });

    expect(leased.sort()).toEqual(later.map(({ attemptId }) => attemptId).sort());
    expect(await storedAttempt(damaged)).toMatchObject({ status: 'REQUESTED', leases: 0 });
    await repair();
  });

  test('states how long no attempt will be due when none is due, at most 2 s', async () => {
    const until = async (): Promise<number> => {
      const { nothingDueFor } = await lease();
      return nothingDueFor === undefined ? 0 : durationMs(nothingDueFor);
    };

    expect(await until()).toBe(2_000);
    const payment = await desk.startDirect({ merchantId });
    const leased = await lease();
    expect(leased.attempts).toHaveLength(1);
    expect(leased.nothingDueFor).toBeUndefined();
    expect(await until()).toBe(2_000);
    await desk.query(sql`update core.payment_attempts set due_at = now() + interval '1.9 seconds'
      where id = ${storedId('pat', payment.attemptId)}`);
    expect(await until()).toBeLessThanOrEqual(1_900);
  });

  test('skips the merchants that the caller excludes', async () => {
    const other = await stack.createMerchant();
    const [mine, others] = await Promise.all([
      desk.startDirect({ merchantId }),
      desk.startDirect({ merchantId: other.id }),
    ]);

    expect(await leaseIds({ exceptMerchantIds: [merchantId] })).toEqual([others.attemptId]);
    expect(await desk.take(mine)).toMatchObject({ leases: 1 });
  });

  test('skips merchants that are held after a restore', async () => {
    const other = await stack.createMerchant();
    await desk.startDirect({ merchantId });
    const others = await desk.startDirect({ merchantId: other.id });
    const letRecover = await holdRecoveries(stack.databaseUrl);
    try {
      await beginRecovery(stack.databaseUrl, { merchantIds: [merchantId] });

      expect(await leaseIds()).toEqual([others.attemptId]);
      await endRecoveries(stack.databaseUrl);
      expect(await leaseIds()).toHaveLength(1);
    } finally {
      await letRecover();
    }
  });

  test('returns one of two due attempts of an order, and the other with the next call', async () => {
    const order = await desk.registerHosted({ merchantId });
    const first = await desk.payHosted(order);
    await desk.settle(first, outcomes.declined());
    const second = await desk.payHosted(order);
    // As after a late callback about the first attempt.
    await desk.makeDue(first);

    const taken = [await leaseIds(), await leaseIds(), await leaseIds()];

    expect(taken.map(({ length }) => length)).toEqual([1, 1, 0]);
    expect(taken.flat().sort()).toEqual([first.attemptId, second.attemptId].sort());
  });

  test('of an exited worker is possible after its lease expired, marked as sent before, and the old lease is invalid', async () => {
    const payment = await desk.startDirect({ merchantId });
    const dead = await desk.take(payment);

    await desk.lapse(payment);
    const next = await desk.take(payment);

    expect(next).toMatchObject({ sentBefore: true, leases: 2, promptUntil: dead.promptUntil });
    expect(next.leaseId).not.toBe(dead.leaseId);
    const failure = await failureOf(desk.record(dead, outcomes.declined()));
    expect(failure).toMatchObject({ code: 'FailedPrecondition', reason: 'LEASE_LOST' });
    expect((await desk.story(payment)).paymentAttempt?.status).toBe(PaymentAttemptStatus.SENT);
  });

  test('leaves it to the worker whose lease has expired while no other worker takes it', async () => {
    const payment = await desk.startDirect({ merchantId });
    const leased = await desk.take(payment);

    await desk.lapse(payment);
    const { order } = await desk.record(leased, outcomes.completed('t-1'));

    expect(order?.status).toBe(OrderStatus.COMPLETED);
  });

  test('ends after the requested time, by the database’s clock', async () => {
    const payment = await desk.startDirect({ merchantId });
    await desk.lease(5n);

    const [row] = await desk.query<{ seconds: number }>(sql`
      select extract(epoch from leased_until - now())::float8 as seconds from core.payment_attempts
      where id = ${storedId('pat', payment.attemptId)}`);
    expect(row?.seconds).toBeGreaterThan(0);
    expect(row?.seconds).toBeLessThanOrEqual(5);
  });

  test('returns attempts of the requested options and environment only', async () => {
    const a = await desk.startDirect({ merchantId, orderNumber: 'L-A' });
    const b = await desk.startDirect({ merchantId, orderNumber: 'L-B', paymentOption: 'walletb_ussd' });
    const live = await desk.startDirect({
      merchantId,
      orderNumber: 'L-A',
      environment: Environment.PRODUCTION,
    });
    const leaseOf = (environment: Environment, option: string) =>
      leaseIds({ environment, paymentOptions: [option] });

    expect(await leaseOf(Environment.SANDBOX, 'walleta_wallet')).toEqual([]);
    expect(await leaseOf(Environment.PRODUCTION, 'walletb_ussd')).toEqual([]);
    expect(await leaseOf(Environment.SANDBOX, 'walletb_ussd')).toEqual([b.attemptId]);
    expect(await leaseOf(Environment.SANDBOX, 'walleta_ussd')).toEqual([a.attemptId]);
    expect(await leaseOf(Environment.PRODUCTION, 'walleta_ussd')).toEqual([live.attemptId]);
  });

  test('by four workers at once distributes two hundred attempts without overlap', async () => {
    const started = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        desk.startDirect({ merchantId, orderNumber: `W-${index}`, phone: `09112${10_000 + index}` }),
      ),
    );
    const taken: string[] = [];
    const work = async (): Promise<void> => {
      while (taken.length < started.length) {
        taken.push(...(await leaseIds({ maxAttempts: 7 })));
      }
    };

    await Promise.all([work(), work(), work(), work()]);

    expect(new Set(taken)).toEqual(new Set(started.map(({ attemptId }) => attemptId)));
    expect(taken).toHaveLength(200);
  });
});

test('an attempt that was not sent in the three minutes of its prompt is never sent, and fails the direct order', async () => {
  const payment = await desk.startDirect({ merchantId });
  await desk.query(sql`
    update core.payment_attempts set prompt_until = now() where id = ${storedId('pat', payment.attemptId)}`);

  expect(await desk.lease()).toEqual([]);

  const { order, paymentAttempt } = await desk.story(payment);
  expect(order?.status).toBe(OrderStatus.FAILED);
  expect(paymentAttempt?.status).toBe(PaymentAttemptStatus.TIMED_OUT);
  expect((await storedAttempt(payment))?.due_at).toBeNull();
});

test('an attempt that was due while the session of its order seemed to have expired is sent when it has not', async () => {
  const payment = await desk.startDirect({ merchantId });
  const attemptId = storedId('pat', payment.attemptId);
  const moveExpiry = (by: string) =>
    desk.query(sql`update core.orders set expires_at = expires_at + ${by}::interval
      where id = ${storedId('ord', payment.orderId)}`);
  await moveExpiry('-1 day');

  expect(await desk.lease()).toEqual([]);
  expect(await storedAttempt(payment)).toMatchObject({ status: 'REQUESTED', due_at: expect.any(Date) });

  await moveExpiry('1 day');
  await desk.query(sql`update core.payment_attempts set due_at = now() where id = ${attemptId}`);
  expect(await desk.take(payment)).toMatchObject({ sentBefore: false });
});

test('a limit of 0 prompts, as this stack has it, lets any number of payments prompt a phone at once', async () => {
  for (let index = 0; index < 7; index += 1)
    await desk.startDirect({ merchantId, orderNumber: `U-${index}`, phone: '0911220000' });
});

const uuid = '01900000-0000-7000-8000-000000000000';
const unknownIds = { merchantId: publicId('mer', uuid), paymentAttemptId: publicId('pat', uuid) };
const recordUnknown = (outcome: Outcome) =>
  desk.payments.recordPaymentOutcome({ ...unknownIds, leaseId: '1', outcome });

test('leasing, recording and listing report all invalid fields at once', async () => {
  const { merchantId, paymentAttemptId } = unknownIds;
  const wrongLease = {
    ...{ environment: 7 as Environment, paymentOptions: [], maxAttempts: 101, lease: { seconds: 301n } },
    exceptMerchantIds: [merchantId, paymentAttemptId],
  };
  const page = { pageSize: -1, pageToken: 'x' };
  const wrongList = { ...page, statuses: [99 as PaymentAttemptStatus] };
  const wrongStrays = { ...page, merchantId: 'mer', statuses: [99 as StrayPaymentStatus] };
  const reader = stack.client(PaymentAttemptService, 'reader');

  expect(await wrongFields(lease(wrongLease))).toBe(
    'environment except_merchant_ids lease max_attempts payment_options',
  );
  const wrongReversals = { exceptMerchantIds: [paymentAttemptId] };
  expect(await wrongFields(desk.reversals.leaseReversals(wrongReversals))).toBe(
    'environment except_merchant_ids lease max_reversals payment_options',
  );
  expect(await wrongFields(desk.payments.recordPaymentOutcome({}))).toBe(
    'lease_id merchant_id outcome payment_attempt_id',
  );
  expect(await wrongFields(reader.listPaymentAttempts(wrongList))).toBe(
    'environment merchant_id page_size page_token statuses',
  );
  expect(await wrongFields(desk.strayPayments.listStrayPayments(wrongStrays))).toBe(
    'merchant_id page_size page_token statuses',
  );
});

test('each limit of a lease and of an outcome is reported at its field', async () => {
  const tooMany = Array.from({ length: 101 }, () => unknownIds.merchantId);
  expect(await wrongFields(lease({ exceptMerchantIds: tooMany }))).toBe('except_merchant_ids');
  for (const seconds of [0n, 4n, -1n, 301n, 2n ** 62n])
    expect(await wrongFields(lease({ lease: { seconds } }))).toBe('lease');
  for (const maxAttempts of [-1, 0, 101])
    expect(await wrongFields(lease({ maxAttempts }))).toBe('max_attempts');
  expect(await wrongFields(recordUnknown(outcomes.declined('because')))).toBe('declined.reason');
  expect(await wrongFields(recordUnknown(outcomes.completed('')))).toBe('completed.provider_transaction_id');
});

test('the attempts of a merchant, and those of one order, are listed newest first, page by page, without a gap', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const started: string[] = [];
  for (let index = 0; index < 5; index += 1)
    started.push((await desk.startDirect({ merchantId, orderNumber: `P-${index}` })).attemptId);
  const reader = stack.client(PaymentAttemptService, 'reader');
  const list = async (orderId = ''): Promise<string[]> => {
    const listed: string[] = [];
    let pageToken = '';
    do {
      const page = await reader.listPaymentAttempts({
        ...{ merchantId, environment: Environment.SANDBOX, orderId, pageSize: 2, pageToken },
      });
      listed.push(...page.paymentAttempts.map(({ paymentAttemptId }) => paymentAttemptId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return listed;
  };
  const all = await list();
  const [payment] = await desk.query<{ order_id: string }>(
    `update core.payment_attempts set status = 'TIMED_OUT', due_at = null,
       order_id = (select id from core.orders where merchant_id = $1 limit 1)
     where merchant_id = $1 returning order_id`,
    [storedId('mer', merchantId)],
  );

  // By the times in their ids. Core's clock may be corrected by some milliseconds between two of them.
  const newestFirst = started.toSorted().toReversed();
  expect(all).toEqual(newestFirst);
  expect(await list(publicId('ord', payment?.order_id ?? ''))).toEqual(newestFirst);
});
