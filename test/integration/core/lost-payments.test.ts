import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import type { PublicId } from '../../../src/contract/public-id.ts';
import { createAttemptIds } from '../../../src/core/payments/changes/attempt-ids.ts';
import { Environment, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderFact } from '../../../src/gen/gatehouse/v1/order_explanation_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { OrderStoryService } from '../../../src/gen/gatehouse/v1/order_story_service_pb.js';
import {
  PayerPaymentDecision,
  PayerPaymentStatus,
} from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { deriveKey } from '../../../src/main/derive-key.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { orderNamed } from '../../support/order-requests.ts';
import { outcomeOf, refusalOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCoreWithPaybill } from '../../support/simulated-wallets.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import {
  beginRecovery,
  endRecoveries,
  holdRecoveries,
  restoreDatabase,
  returnDatabase,
} from './held-recoveries.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import type { Payment } from './payment-desk.ts';

/* Known orders of a restored database, whose payments it may have lost. */

const environment = Environment.SANDBOX;
const stack = sharedStack({
  ...{ cores: 1, facades: 0 },
  settings: {
    GATEHOUSE_WALLETS: walletsOfCoreWithPaybill('174379'),
    // Fewer than the calls of one test.
    GATEHOUSE_DATABASE_POOL_SIZE: '4',
  },
});
const desk = sharedPaymentDesk(stack);
const reader = sharedClient(stack, OrderService, 'reader');
const stories = sharedClient(stack, OrderStoryService, 'reader');
let merchantId: string;
let letRecover: () => Promise<void>;

beforeEach(async () => {
  await desk.clear();
  await desk.query(`update core.payer_payments set status = 'NO_PAYMENT', due_at = null, leased_until = null
    where due_at is not null`);
  await desk.query('delete from core.unclaimed_payments');
  ({ id: merchantId } = await stack.createMerchant());
  letRecover = await holdRecoveries(stack.databaseUrl);
  await waitUntil('core takes payments again after the last test', async () => {
    return (await refusalOf(reader.getOrder(orderNamed(merchantId, 'unknown')))) === 'ORDER_NOT_FOUND';
  });
});

afterEach(async () => {
  await returnDatabase(stack.databaseUrl);
  await endRecoveries(stack.databaseUrl);
  await letRecover();
});

const restore = () => restoreDatabase(stack.databaseUrl);
const hold = (...merchantIds: string[]) => beginRecovery(stack.databaseUrl, { merchantIds });

const references = new Map<string, string>();
/** The reference of an order's attempt, which the wallet repeats. The same whenever it is asked for. */
function referenceOf(orderNumber: string, attempt: number): string {
  const key = deriveKey(
    Buffer.from(stack.coreSettings['GATEHOUSE_MASTER_KEY'] ?? '', 'hex'),
    'payment-attempt-id',
  );
  const order = { merchantId: merchantId as PublicId<'mer'>, environment: 'SANDBOX', orderNumber } as const;
  const name = `${merchantId} ${orderNumber} ${attempt}`;
  const reference =
    references.get(name) ?? createAttemptIds(newRandomId, key).next(order, attempt, new Date());
  references.set(name, reference);
  return reference;
}

type Lost = readonly [orderNumber: string, attempt: number];
/** The wallet has money of these attempts, which the database has lost. Resolves when core knows of it. */
const findUnclaimed = (...lost: Lost[]): Promise<void> => findUnclaimedAt(new Date(), ...lost);
async function findUnclaimedAt(foundAt: Date, ...lost: Lost[]): Promise<void> {
  for (const [orderNumber, attempt] of [...lost, ['lost', 1] as const]) {
    const reference = referenceOf(orderNumber, attempt);
    await desk.query(sql`insert into core.unclaimed_payments
        (environment, wallet, payee, provider_transaction_id, request_id, reference_end, amount, currency, occurred_at, found_at)
      values ('SANDBOX', 'walleta', '', ${reference}, ${reference}, ${reference.slice(-12)}, '100.50', 'ETB',
        ${foundAt}, ${foundAt})`);
  }
  await waitUntil('core knows of the lost payments', async () => {
    return (await refusalOf(reader.getOrder(orderNamed(merchantId, 'lost')))) === 'RECOVERING';
  });
}
const monthAgo = () => new Date(Date.now() - 31 * 24 * 60 * 60_000);
const unclaimed = async (): Promise<string[]> => {
  const rows = await desk.query<{ request_id: string }>(`
    select request_id from core.unclaimed_payments where claimed_at is null`);
  return rows.map((row) => row.request_id).filter((id) => id !== referenceOf('lost', 1));
};

const validate = async (reference: string): Promise<string | undefined> => {
  const asked = { environment, wallet: 'walleta', reference, amount: '100.50', currency: 'ETB' };
  return PayerPaymentDecision[(await desk.payers.validatePayerPayment(asked)).decision];
};
/** A payer has paid an order from the menu of the phone. Returns the payment's id. */
const payFromMenu = (reference: string, paymentAttemptIdEnd = '') =>
  desk.reportFromMenu(merchantId, reference, { paymentAttemptIdEnd });
const confirmFromMenu = (payerPaymentId: string, reference: string) =>
  desk.confirmFromMenu(merchantId, payerPaymentId, reference);
const leasedIds = async (maxPayments?: number) =>
  (await desk.leaseFromMenu('walleta', maxPayments)).map(({ payerPayment }) => payerPayment?.payerPaymentId);
/** A worker takes the payment, and its wallet gives no answer. */
async function leaveUnanswered(
  payerPaymentId: string,
  makeSlow: () => unknown = () => undefined,
): Promise<void> {
  const [leased] = await desk.leaseFromMenu();
  await makeSlow();
  await desk.payers.recordPayerPaymentOutcome({
    ...{ payerPaymentId, leaseId: leased?.leaseId ?? '' },
    outcome: { case: 'unknown', value: { detail: 'no answer' } },
  });
}
/** The time of the next query of each reported payment. */
const setPayersDue = (due: string) =>
  desk.query(`update core.payer_payments set ${due} where due_at is not null`);
const ageReports = () =>
  desk.query("update core.payer_payments set created_at = created_at - interval '16 minutes'");
const makePayersDue = () => setPayersDue('due_at = now(), leased_until = null');

const statusOf = async ({ orderId }: Pick<Payment, 'orderId'>): Promise<string | undefined> => {
  const key = { case: 'orderId', value: orderId } as const;
  const { order } = await reader.getOrder({ merchantId, environment, key });
  return OrderStatus[order?.status ?? 0];
};
async function factOf(orderId: string): Promise<string | undefined> {
  const asked = { merchantId, environment, key: { case: 'orderId', value: orderId } as const };
  return OrderFact[(await stories.explainOrder(asked)).explanation?.waitingFor ?? 0];
}

/** The time to pay is over, and core has looked at the order after that. */
async function sweep(order: Pick<Payment, 'orderId'>): Promise<void> {
  const looked =
    "select from core.orders where id = $1 and (status <> 'PENDING' or sweep_at > now() + interval '5 s')";
  await desk.endSession(order);
  await waitUntil('the order is swept', async () => {
    return (await desk.query(looked, [storedId('ord', order.orderId)])).length === 1;
  });
}
const cancel = ({ orderId }: Pick<Payment, 'orderId'>) =>
  desk.orders.cancelOrder({ merchantId, environment, orderId });
/** The attempts of an order by their ids, with what the wallet is asked. */
const attemptsOf = ({ orderId }: Pick<Payment, 'orderId'>) =>
  desk
    .query<{ id: string; status: string }>(sql`select id, status from core.payment_attempts
      where order_id = ${storedId('ord', orderId)} order by created_at`)
    .then((rows) => rows.map(({ id, status }) => `${publicId('pat', id)} ${status}`));

describe('a payment from the menu of the phone', () => {
  test('is neither accepted nor confirmed in a restored database, and the paybill is hidden', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'M-1' });
    expect([await validate('M-1'), await desk.paybillsOf(hosted)]).toEqual(['ACCEPT', ['174379']]);
    const reported = await payFromMenu('M-1');

    await restore();

    expect([await validate('M-1'), await desk.paybillsOf(hosted)]).toEqual(['NOT_PAYABLE', []]);
    expect(await leasedIds()).toEqual([]);
    await returnDatabase(stack.databaseUrl);
    expect(await leasedIds()).toEqual([reported]);
  });

  test('is neither accepted nor confirmed for a held merchant, and does not hold up the payments of others', async () => {
    const { id: other } = await stack.createMerchant();
    await desk.registerHosted({ merchantId, orderNumber: 'H-1' });
    await desk.registerHosted({ merchantId: other, orderNumber: 'H-2' });
    const reported = await payFromMenu('H-1');
    const others = await payFromMenu('H-2');

    await hold(merchantId);

    expect([await validate('H-1'), await validate('H-2')]).toEqual(['NOT_PAYABLE', 'ACCEPT']);
    const leased = [...(await leasedIds(1)), ...(await leasedIds(1))];
    expect(leased).toEqual([others]);
    await endRecoveries(stack.databaseUrl);
    await makePayersDue();
    expect(await leasedIds()).toEqual(expect.arrayContaining([reported]));
  });

  test('is offered on the page without waiting for a change of the order', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'L-1' });
    const release = await desk.holdOrder(hosted);
    try {
      expect(await desk.paybillsOf(hosted)).toEqual(['174379']);
    } finally {
      await release();
    }
  });

  test.each<[string, (payerPaymentId: string) => Promise<unknown>, string]>([
    ['is then paid', (payerPaymentId) => confirmFromMenu(payerPaymentId, 'k-1'), 'COMPLETED'],
    ['expires 15 minutes after the report', () => ageReports(), 'EXPIRED'],
  ])('that is not confirmed yet holds its order, which %s', async (_name, decide, status) => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'K-1' });
    const reported = await payFromMenu('k-1');
    await sweep(hosted);
    const second = { merchantId, orderNumber: 'K-1', phone: '0911777001' };
    const refused = [
      await refusalOf(cancel(hosted)),
      await refusalOf(desk.cancelHosted(hosted)),
      await refusalOf(desk.payHosted(hosted, 'walleta_ussd', second.phone)),
      await refusalOf(desk.startDirect(second)),
    ];
    expect(new Set(refused)).toEqual(new Set(['PAYMENT_IN_PROGRESS']));
    expect(await statusOf(hosted)).toBe('PENDING');

    await decide(reported);
    if (status === 'EXPIRED') await sweep(hosted);

    expect(await statusOf(hosted)).toBe(status);
  });

  test.each([
    ['declined', 'COMPLETED', 'D-1', outcomes.declined()],
    ['not confirmed in time', 'COMPLETED', 'D-2', outcomes.timedOut()],
    ['declined', 'EXPIRED', 'D-3', outcomes.declined()],
  ])(
    'keeps a direct order open whose prompt is %s, until it is %s',
    async (_, status, orderNumber, outcome) => {
      const payment = await desk.startDirect({ merchantId, orderNumber, amount: '100.50' });
      const leased = await desk.take(payment);
      const reported = await payFromMenu(orderNumber);
      if (status === 'COMPLETED') await confirmFromMenu(reported, orderNumber);
      await desk.record(leased, outcome);
      expect(await statusOf(payment)).toBe('PENDING');
      expect(await factOf(payment.orderId)).toBe('PAYER_PAYMENT');

      await makePayersDue();
      if (status === 'COMPLETED') await confirmFromMenu(reported, orderNumber);
      else await ageReports();
      await sweep(payment);

      expect(await statusOf(payment)).toBe(status);
      expect(await desk.startDirect({ merchantId, orderNumber, amount: '100.50' })).toEqual(payment);
    },
  );

  test('keeps a direct order open whose prompt took the amount in another currency', async () => {
    const payment = await desk.startDirect({ merchantId, orderNumber: 'D-4', amount: '100.50' });
    const leased = await desk.take(payment);
    await payFromMenu('D-4');

    await desk.record(leased, outcomes.completed('t-1', '100.50', 'KES'));

    expect(await statusOf(payment)).toBe('PENDING');
  });

  test('that is confirmed holds its order until the prompt is decided, and is then asked about at once', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'F-1' });
    const leased = await desk.take(await desk.payHosted(hosted));
    const reported = await payFromMenu('F-1');
    await confirmFromMenu(reported, 'F-1');
    // Confirmed money is not abandoned after days in which the wallet gave no answer.
    await desk.query("update core.payer_payments set created_at = created_at - interval '4 days'");
    await makePayersDue();
    await leaveUnanswered(reported);
    await setPayersDue("due_at = now() + interval '1 hour'");

    await desk.record(leased, outcomes.declined());

    expect(await refusalOf(desk.payHosted(hosted, 'walleta_ussd', '0911777002'))).toBe('PAYMENT_IN_PROGRESS');
    await sweep(hosted);
    expect(await statusOf(hosted)).toBe('PENDING');
    await confirmFromMenu(reported, 'F-1');
    expect(await statusOf(hosted)).toBe('COMPLETED');
  });

  test('that is confirmed is asked about at once when the prompt has paid the order, and returned', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'F-2', amount: '100.50' });
    const leased = await desk.take(await desk.payHosted(hosted));
    const reported = await payFromMenu('F-2');
    await confirmFromMenu(reported, 'F-2');
    await setPayersDue("due_at = now() + interval '1 hour'");

    await desk.record(leased, outcomes.completed('t-2', '100.50'));

    await confirmFromMenu(reported, 'F-2');
    const states = await desk.query("select status from core.payer_payments where reference = 'F-2'");
    expect(states).toEqual([{ status: 'STRAY' }]);
  });

  test('is asked about less often while its wallet is slow', async () => {
    const reported = await payFromMenu('S-1');
    const end = "now() + interval '9 s'";
    // The answer comes shortly before the end of the lease.
    await leaveUnanswered(reported, () => setPayersDue(`tries = 8, due_at = ${end}, leased_until = ${end}`));

    const later = "select from core.payer_payments where due_at > now() + interval '10 minutes'";
    expect(await desk.query(later)).toHaveLength(1);
  });

  test('pays its order at once if the prompt was never sent, and the prompt is not sent any more', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'N-1' });
    await desk.payHosted(hosted);
    await confirmFromMenu(await payFromMenu('N-1'), 'N-1');

    expect(await statusOf(hosted)).toBe('COMPLETED');
    const statuses = (await attemptsOf(hosted)).map((attempt) => attempt.split(' ')[1]);
    expect([statuses, await desk.lease()]).toEqual([['TIMED_OUT', 'SUCCEEDED'], []]);
  });

  test('that names a declined prompt instead of the order holds the order too, which is then paid', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'P-1' });
    const declined = await desk.payHosted(hosted);
    await desk.settle(declined, outcomes.declined());
    const reference = declined.attemptId.slice(-12);
    const reported = await payFromMenu(reference, reference);
    await sweep(hosted);
    const again = desk.startDirect({ merchantId, orderNumber: 'P-1', phone: '0911777003' });
    expect([await statusOf(hosted), await refusalOf(again)]).toEqual(['PENDING', 'PAYMENT_IN_PROGRESS']);

    await makePayersDue();
    await confirmFromMenu(reported, reference);

    expect(await statusOf(hosted)).toBe('COMPLETED');
  });

  test('that comes too late is named on the page of its order until it is returned', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'T-1' });
    const reported = await payFromMenu('T-1');
    await ageReports();
    await sweep(hosted);
    const held = async () =>
      (await desk.checkout.getCheckout({ token: hosted.token })).checkout?.moneyNotReturned;
    const money = { amount: '100.50', currency: 'ETB', reversalRefused: false };
    expect([await statusOf(hosted), await held()]).toEqual(['EXPIRED', expect.objectContaining(money)]);

    await confirmFromMenu(reported, 'T-1');
    expect(await held()).toMatchObject(money);
    await desk.query("update core.stray_payments set status = 'REVERSAL_REFUSED', due_at = null");
    expect(await held()).toMatchObject({ ...money, reversalRefused: true });
    await desk.clear();
    expect(await held()).toBeUndefined();
  });

  test('is not accepted for an order that has a lost payment', async () => {
    await desk.registerHosted({ merchantId, orderNumber: 'U-1' });
    await findUnclaimed(['U-1', 1]);

    expect(await validate('U-1')).toBe('NOT_PAYABLE');
  });

  test('waits for the lost payment of its order', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'W-1' });
    await findUnclaimed(['W-1', 1]);
    const payerPaymentId = await payFromMenu('W-1');

    const payerPayment = await confirmFromMenu(payerPaymentId, 'W-1');

    expect(payerPayment?.status).toBe(PayerPaymentStatus.OPEN);
    expect(await attemptsOf(hosted)).toEqual([`${referenceOf('W-1', 1)} UNKNOWN`]);
  });
});

describe('an order that is sent again', () => {
  test('gets its lost payment and is not charged again, also a month after the restore', async () => {
    await findUnclaimedAt(monthAgo(), ['R-1', 1]);

    const payment = await desk.startDirect({ merchantId, orderNumber: 'R-1', amount: '100.50' });

    expect(await attemptsOf(payment)).toEqual([`${referenceOf('R-1', 1)} UNKNOWN`]);
    expect(await unclaimed()).toEqual([]);
  });

  test('a month after the restore waits for the account of its lost payment, and does not expire', async () => {
    await findUnclaimedAt(monthAgo(), ['R-2', 1]);
    await desk.query("update core.unclaimed_payments set payee = 'gone'");
    const again = desk.startDirect({ merchantId, orderNumber: 'R-2', amount: '100.50' });
    expect(await refusalOf(again)).toBe('RECOVERING');
    const [row] = await desk.query<{ id: string }>(sql`select id from core.orders
      where merchant_id = ${storedId('mer', merchantId)} and order_number = 'R-2'`);
    const order = { orderId: publicId('ord', row?.id ?? '') };
    await sweep(order);
    expect(await statusOf(order)).toBe('PENDING');

    await desk.query("update core.unclaimed_payments set payee = ''");
    await desk.endSession(order);

    await waitUntil('the payment is claimed', async () => (await unclaimed()).length === 0);
    expect(await attemptsOf(order)).toEqual([`${referenceOf('R-2', 1)} UNKNOWN`]);
  });
});

describe('a cancellation', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['in a restored database, because the order may have been paid', () => restore()],
    ['for an order of a held merchant', () => hold(merchantId)],
  ])('is refused %s', async (_name, recover) => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'C-1' });
    await recover();

    expect(await refusalOf(cancel(hosted))).toBe('RECOVERING');
    expect(await refusalOf(desk.cancelHosted(hosted))).toBe('RECOVERING');
    expect(await statusOf(hosted)).toBe('PENDING');
  });

  test.each(['the merchant', 'the payer'])('by %s gives the order its lost payment first', async (by) => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'C-3' });
    await findUnclaimed(['C-3', 1]);

    const cancelled = by === 'the payer' ? desk.cancelHosted(hosted) : cancel(hosted);

    expect(await refusalOf(cancelled)).toBe('PAYMENT_IN_PROGRESS');
    expect(await attemptsOf(hosted)).toEqual([`${referenceOf('C-3', 1)} UNKNOWN`]);
    expect(await unclaimed()).toEqual([]);
  });

  test.each([
    [0, 'RECOVERING', 'PENDING'],
    [31, 'done', 'FAILED'],
  ])(
    'after %i days, with a lost payment at an account that is gone, is answered: %s',
    async (days, answer, status) => {
      const hosted = await desk.registerHosted({ merchantId, orderNumber: 'C-6' });
      await desk.query(sql`update core.orders set created_at = created_at - interval '40 days'
        where id = ${storedId('ord', hosted.orderId)}`);
      await findUnclaimedAt(new Date(Date.now() - days * 24 * 60 * 60_000), ['C-6', 1]);
      await desk.query("update core.unclaimed_payments set payee = 'gone'");

      expect(await outcomeOf(cancel(hosted))).toBe(answer);
      expect(await statusOf(hosted)).toBe(status);
    },
  );

  test('does not wait for a second connection, of which parallel ones would leave none', async () => {
    const { id: other } = await stack.createMerchant();
    const known = await desk.registerHosted({ merchantId: other, orderNumber: 'C-5' });
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'C-5' });
    await findUnclaimed();

    const cancelling = Array.from({ length: 12 }, () => desk.cancelHosted(hosted));
    const [{ checkout }, ...all] = await Promise.all([
      desk.checkout.getCheckout({ token: known.token }),
      ...cancelling,
    ]);

    expect(checkout?.order?.status).toBe(OrderStatus.PENDING);
    const statuses = all.map((cancelled) => cancelled.checkout?.order?.status);
    expect(new Set(statuses)).toEqual(new Set([OrderStatus.FAILED]));
  });

  test('of a cancelled order is answered as before', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'C-4' });
    await desk.cancelHosted(hosted);
    await restore();

    const { checkout } = await desk.cancelHosted(hosted);

    expect(checkout?.order?.status).toBe(OrderStatus.FAILED);
    expect(await refusalOf(cancel(hosted))).toBe('ORDER_NOT_PAYABLE');
  });
});

// Attempts have their times in front, and a lost one has the number of the next again.
test('a lost payment is not taken for a later attempt whose id has another beginning', async () => {
  const hosted = await desk.registerHosted({ merchantId, orderNumber: 'B-1' });
  // It is found only then, because an earlier payment would claim it.
  const later = await desk.payHosted(hosted);
  await findUnclaimed(['B-1', 1]);
  expect(later.attemptId.slice(-12)).toBe(referenceOf('B-1', 1).slice(-12));
  await desk.settle(later, outcomes.declined());

  expect(await refusalOf(cancel(hosted))).toBe('PAYMENT_IN_PROGRESS');

  expect(await attemptsOf(hosted)).toEqual(
    [`${referenceOf('B-1', 1)} UNKNOWN`, `${later.attemptId} DECLINED`].toSorted(),
  );
});

test.each<[string, () => Promise<unknown>]>([
  ['in a restored database', () => restore()],
  ['of a held merchant', () => hold(merchantId)],
  ['whose lost payment is not claimed', () => findUnclaimed(['X-1', 1])],
])('the explanation of an order %s names the recovery', async (_name, recover) => {
  const { orderId } = await desk.registerHosted({ merchantId, orderNumber: 'X-1' });
  expect(await factOf(orderId)).toBe('CUSTOMER_PAYMENT');

  await recover();

  expect(await factOf(orderId)).toBe('RECOVERY');
});

test('an order whose session has ended gets a lost payment that another payment held up, and does not expire', async () => {
  const hosted = await desk.registerHosted({ merchantId, orderNumber: 'E-1' });
  const first = await desk.payHosted(hosted);
  await desk.settle(first, outcomes.unknown());
  await findUnclaimed(['E-1', 2]);
  await desk.makeDue(first);
  await desk.settle(first, outcomes.declined());
  await desk.endSession(hosted);

  await waitUntil(
    'the order is decided',
    async () => (await unclaimed()).length === 0 || (await statusOf(hosted)) !== 'PENDING',
  );

  expect(await statusOf(hosted)).toBe('PENDING');
  expect(await attemptsOf(hosted)).toEqual([
    `${first.attemptId} DECLINED`,
    `${referenceOf('E-1', 2)} UNKNOWN`,
  ]);
});
