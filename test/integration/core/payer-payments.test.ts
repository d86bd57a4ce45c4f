import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newRandomId, noMerchantId } from '../../../src/contract/public-id.ts';
import type { PublicId } from '../../../src/contract/public-id.ts';
import { createIsNamedAlone } from '../../../src/core/payments/payer-payments/named-alone.ts';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  PayerPaymentDecision,
  PayerPaymentService,
  PayerPaymentStatus,
} from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { StrayPaymentKind } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { duringChange, holdLocks } from '../../support/database-connections.ts';
import { storedId } from '../../support/ids.ts';
import { refusalOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedCoreDatabase, sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCoreWithPaybill } from '../../support/simulated-wallets.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { damageRow } from './damaged-row.ts';
import { outcomes, sharedPaymentDesk, transactionOf, useOf } from './payment-desk.ts';

/** Payments at walletb go to an account of this merchant. Those at walleta go to the operator's. */
const ownerId = newRandomId('mer', new Date());
const environment = Environment.SANDBOX;
const stack = sharedStack({
  ...{ cores: 1, facades: 0 },
  settings: { GATEHOUSE_WALLETS: walletsOfCoreWithPaybill('174379', ownerId) },
});
const coreDatabase = sharedCoreDatabase('named alone', () => stack.databaseUrl, 2);
const desk = sharedPaymentDesk(stack);
const reader = sharedClient(stack, PayerPaymentService, 'reader');
const merchants = sharedClient(stack, MerchantService, 'operator');

const money = { amount: '100.50', currency: 'ETB' };
let merchantId: string;

beforeEach(async () => {
  await desk.clear();
  await desk.query(`update core.payer_payments set status = 'NO_PAYMENT', due_at = null, leased_until = null
    where due_at is not null`);
  ({ id: merchantId } = await stack.createMerchant());
});

const validate = async (reference: string, own: object = {}): Promise<string | undefined> => {
  const asked = { environment, wallet: 'walleta', reference, ...money, ...own };
  return PayerPaymentDecision[(await desk.payers.validatePayerPayment(asked)).decision];
};
const transaction = (reference: string): string => transactionOf(merchantId, reference);
/** A wallet reports a payment. Returns the payment's id. */
const report = (reference: string, wallet = 'walleta', own: object = {}): Promise<string> =>
  desk.reportFromMenu(merchantId, reference, { wallet, paymentOption: `${wallet}_ussd`, ...own });
/** A worker takes the only payment that is due. */
async function lease(wallet = 'walleta'): Promise<string> {
  const payments = await desk.leaseFromMenu(wallet);
  expect(payments).toHaveLength(1);
  return payments[0]?.leaseId ?? '';
}
const makeDue = () =>
  desk.query('update core.payer_payments set due_at = now(), leased_until = now() where due_at is not null');
const noAnswer = { case: 'unknown', value: { detail: 'no answer' } } as const;
const exchange = { purpose: 'callback' };
const confirm = (payerPaymentId: string, leaseId: string, reference: string, own: object = {}) =>
  desk.confirmFromMenu(merchantId, payerPaymentId, reference, { leaseId, ...own });
const statusesOf = async (orderNumber: string): Promise<string[]> =>
  (
    await desk.query<{ status: string }>(sql`
      select o.status::text from core.orders o where o.order_number = ${orderNumber} order by o.created_at`)
  ).map(({ status }) => status);

describe('a payment that the wallet does not confirm is asked about', () => {
  test.each([
    ['less and less often', "due_at > now() + interval '10 minutes'", false],
    ['at once if a hint about it arrived meanwhile', 'due_at <= now()', true],
  ])('%s', async (_name, due, hasNews) => {
    const payerPaymentId = await report('unconfirmed');
    await desk.query('update core.payer_payments set tries = 7 where due_at is not null');
    const leaseId = await lease();
    if (hasNews) await desk.payers.hastenPayerPayment({ payerPaymentId });

    await desk.payers.recordPayerPaymentOutcome({ payerPaymentId, leaseId, outcome: noAnswer });

    expect(await desk.query(`select from core.payer_payments where ${due}`)).toHaveLength(1);
  });
});

test('a payment is leased although another one cannot be changed, which waits', async () => {
  const damaged = await report('damaged');
  const repair = await damageRow(desk.query, 'payer_payments', storedId('ppm', damaged), 'changed');
  const next = await report('intact');

  const leased = await waitUntil('it is leased', async () => {
    const all = await desk.leaseFromMenu();
    return all.length > 0 && all;
  });

  expect(leased.map(({ payerPayment }) => payerPayment?.payerPaymentId)).toEqual([next]);
  await repair();
});

test('a payment is held by one worker, even when a hint about it arrives', async () => {
  const payerPaymentId = await report('held');
  await lease();

  await desk.payers.hastenPayerPayment({ payerPaymentId });

  expect(await desk.leaseFromMenu()).toEqual([]);
});

test.each<[string, (payerPaymentId: string) => Promise<unknown>]>([
  ['a message about it', (payerPaymentId) => desk.payers.hastenPayerPayment({ payerPaymentId })],
  ['another report of it', () => report('abandoned')],
])('an abandoned payment is open for three more days after %s', async (_name, sendNews) => {
  const payerPaymentId = await report('abandoned');
  const refuse = async () => {
    await makeDue();
    const leaseId = await lease();
    const answer = { payerPaymentId, leaseId, outcome: noAnswer };
    return (await desk.payers.recordPayerPaymentOutcome(answer)).payerPayment;
  };
  await desk.query("update core.payer_payments set created_at = now() - interval '3 days'");
  const abandoned = { status: PayerPaymentStatus.ABANDONED, detail: 'no answer' };
  expect([await refuse(), await desk.leaseFromMenu()]).toMatchObject([abandoned, []]);

  await sendNews(payerPaymentId);

  expect(await refuse()).toMatchObject({ status: PayerPaymentStatus.OPEN, tries: 1 });
});

test('a worker gets the reference of the wallet and the notes of its messages', async () => {
  const payerPaymentId = await report('noted');
  for (const providerReference of ['ref-1', '']) {
    const outcome = { case: 'pending', value: { providerReference } } as const;
    await desk.payers.recordPayerPaymentOutcome({ payerPaymentId, leaseId: await lease(), outcome });
    await makeDue();
  }

  await desk.payers.hastenPayerPayment({ payerPaymentId, callbackNote: 'note' });

  expect(await desk.leaseFromMenu()).toMatchObject([{ providerReference: 'ref-1', callbackNotes: ['note'] }]);
});

test('a report that names a prompt has the prompt asked about, and waits for its answer', async () => {
  const prompt = await desk.startDirect({ merchantId });
  await desk.settle(prompt, outcomes.pending('r-1'));
  await desk.query("update core.payment_attempts set due_at = now() + interval '1 hour'");

  await report('prompt', 'walleta', { paymentAttemptIdEnd: prompt.attemptId.slice(-12) });

  const waits = 'select from core.payer_payments where due_at > created_at';
  expect(await desk.query(waits)).toHaveLength(1);
  await desk.take(prompt);
});

test('another amount than the reported one is recorded as the wallet confirms it', async () => {
  await desk.registerHosted({ merchantId, orderNumber: 'less' });
  const reported = await report('less');

  const stray = await confirm(reported, await lease(), 'less', { amount: '99' });

  expect(stray).toMatchObject({ status: PayerPaymentStatus.STRAY, merchantId, amount: '99' });
  expect(await desk.strays(merchantId)).toMatchObject([{ amount: '99', currency: 'ETB' }]);
});

test('another amount than that of the prompt that the report names waits for the prompt, and is its money', async () => {
  const prompt = await desk.startDirect({ merchantId });
  await desk.settle(prompt, outcomes.unknown());
  const named = { paymentAttemptIdEnd: prompt.attemptId.slice(-12), amount: '99' };
  const payerPaymentId = await report('other', 'walleta', named);
  await makeDue();

  const confirmed = await confirm(payerPaymentId, await lease(), 'other', { amount: '99' });
  await desk.makeDue(prompt);
  const { order } = await desk.settle(prompt, outcomes.completed(transaction('other'), '99'));

  expect([confirmed?.status, order?.status]).toEqual([PayerPaymentStatus.OPEN, OrderStatus.FAILED]);
  expect(await desk.strays(merchantId)).toMatchObject([
    { paymentAttemptId: prompt.attemptId, amount: '99', kind: StrayPaymentKind.WRONG_AMOUNT },
  ]);
  // It is due, but there is nothing to ask about.
  expect(await desk.leaseFromMenu()).toEqual([]);
  expect(await reader.getPayerPayment({ payerPaymentId })).toMatchObject({
    payerPayment: { status: PayerPaymentStatus.REQUESTED_PAYMENT, paymentAttemptId: prompt.attemptId },
  });
});

test('a hint about a payment that has ended changes nothing', async () => {
  const payerPaymentId = await report('ended', 'walleta', { exchange });
  await confirm(payerPaymentId, await lease(), 'ended');
  const before = await reader.getPayerPayment({ payerPaymentId });
  expect(before.exchanges).toHaveLength(2);

  await report('ended', 'walleta', { exchange });
  await desk.payers.hastenPayerPayment({ payerPaymentId, exchange });

  expect([await reader.getPayerPayment({ payerPaymentId }), await desk.leaseFromMenu()]).toEqual([
    before,
    [],
  ]);
});

test('a report keeps out a second payment for 2 minutes, and a cancellation for 15', async () => {
  const hosted = await desk.registerHosted({ merchantId, orderNumber: 'reported' });
  await report('reported');
  const age = (minutes: number) =>
    desk.query(sql`update core.payer_payments set created_at = now() - make_interval(mins => ${minutes})`);

  await age(1);
  expect(await refusalOf(desk.payHosted(hosted))).toBe('PAYMENT_IN_PROGRESS');
  await age(14);
  expect(await refusalOf(desk.cancelHosted(hosted))).toBe('PAYMENT_IN_PROGRESS');
  await age(3);
  expect((await desk.payHosted(hosted)).attemptId).toMatch(/^pat_/);
});

describe('before money moves, a payment is', () => {
  test.each<[string, string, (() => Promise<unknown>) | undefined, object]>([
    ['accepted', 'ACCEPT', undefined, {}],
    [
      'refused while its merchant is suspended',
      'NOT_PAYABLE',
      () => merchants.suspendMerchant({ merchantId, reason: 'fraud' }),
      {},
    ],
    [
      'refused at a wallet that its merchant does not offer',
      'NOT_PAYABLE',
      () => merchants.updateMerchant({ merchantId, terms: { sandboxPaymentOptions: ['walletb_ussd'] } }),
      {},
    ],
    [
      'refused above the largest amount of its merchant',
      'NOT_PAYABLE',
      () =>
        merchants.updateMerchant({
          merchantId,
          terms: { largestAmounts: [{ amount: '100', currency: 'ETB' }] },
        }),
      {},
    ],
    [
      'for no order of the other environment',
      'UNKNOWN_REFERENCE',
      undefined,
      { environment: Environment.PRODUCTION },
    ],
  ])('%s', async (_name, decision, change, own) => {
    await desk.registerHosted({ merchantId, orderNumber: merchantId });
    await change?.();

    // Core remembers the terms of a merchant for a short time.
    await waitUntil(`it is ${decision}`, async () => (await validate(merchantId, own)) === decision);
  });

  test.each([
    ['wallet', { wallet: 'walletb' }],
    ['environment', { environment: Environment.PRODUCTION }],
  ])('not taken for our prompt at another %s', async (_name, other) => {
    const payment = await desk.startDirect({ merchantId });
    await desk.take(payment);
    const named = { paymentAttemptIdEnd: payment.attemptId.slice(-12) };

    expect([await validate('prompt', named), await validate('prompt', { ...named, ...other })]).toEqual([
      'ACCEPT',
      'UNKNOWN_REFERENCE',
    ]);
  });
});

describe('at the account of one merchant, money', () => {
  beforeAll(() =>
    desk.query(sql`
      insert into core.merchants (id, name, status, production_activated, session_lifetime_seconds, created_at, updated_at)
      values (${storedId('mer', ownerId)}, 'Owner', 'ACTIVE', true, 3600, now(), now())`),
  );

  test('pays the order of that merchant, although another merchant has the same order_number', async () => {
    const other = await desk.registerHosted({ merchantId, orderNumber: 'both' });
    const own = await desk.registerHosted({ merchantId: ownerId, orderNumber: 'both' });
    // Only the page of the order that would be paid shows the paybill.
    expect([await desk.paybillsOf(other), await desk.paybillsOf(own)]).toEqual([[], ['600100']]);
    expect([await validate('both'), await validate('both', { wallet: 'walletb' })]).toEqual([
      'UNKNOWN_REFERENCE',
      'ACCEPT',
    ]);
    const reported = await report('both', 'walletb');

    const paid = await confirm(reported, await lease('walletb'), 'both');

    expect(paid).toMatchObject({ status: PayerPaymentStatus.ORDER_PAID, merchantId: ownerId });
    expect(await statusesOf('both')).toEqual(['PENDING', 'COMPLETED']);
    const attempt = { merchantId: ownerId, paymentAttemptId: paid?.paymentAttemptId ?? '' };
    expect(await desk.payments.getPaymentAttempt(attempt)).toMatchObject({
      providerTransactionId: transaction('both'),
      exchanges: [{ purpose: 'query' }],
    });
  });

  test('that names an order of another merchant belongs to that merchant, and does not hold the order', async () => {
    const hosted = await desk.registerHosted({ merchantId, orderNumber: 'foreign' });
    expect(await validate('foreign', { wallet: 'walletb' })).toBe('UNKNOWN_REFERENCE');
    const reported = await report('foreign', 'walletb');
    await desk.payHosted(hosted);

    const stray = await confirm(reported, await lease('walletb'), 'foreign');

    expect(stray).toMatchObject({ status: PayerPaymentStatus.STRAY, merchantId: ownerId, orderId: '' });
    expect(await statusesOf('foreign')).toEqual(['PENDING']);
  });
});

test('searches for the numbers of one merchant take turns, and one whose time is over is left out', async () => {
  const isNamedAlone = createIsNamedAlone(coreDatabase, 0);
  const [first, second] = await Promise.all(
    ['turn-1', 'turn-2'].map(async (orderNumber) => {
      const { orderId } = await desk.registerHosted({ merchantId, orderNumber });
      const owner = { merchantId: merchantId as PublicId<'mer'>, environment: 'SANDBOX' } as const;
      return { ...owner, id: orderId as PublicId<'ord'>, orderNumber };
    }),
  );
  const release = await holdLocks(stack.databaseUrl, 'lock table core.merchants in access exclusive mode');

  const searches = [first!, second!, first!].map((order) => isNamedAlone(order, null));
  await waitUntil('a search waits for the lock', async () => (await desk.lockWaits()) > 0);
  await release();

  expect(await Promise.all(searches)).toEqual([true, false, true]);
  expect(await isNamedAlone(second!, null)).toBe(true);
});

test('money for no order at an account of several merchants belongs to none', async () => {
  const reported = await report('nonsense');

  const stray = await confirm(reported, await lease(), 'nonsense');

  expect(stray).toMatchObject({ status: PayerPaymentStatus.STRAY, merchantId: noMerchantId, orderId: '' });
});

describe.each(['for an order', 'for no order'])('a confirmation of money %s', (what) => {
  /** The money names an order, or nothing that is known. */
  let reference: string;
  beforeEach(async () => {
    reference = `${what.replaceAll(' ', '-')}-${merchantId}`;
    if (what === 'for an order') await desk.registerHosted({ merchantId, orderNumber: reference });
  });

  test('under a lease that another worker has now is refused, and repeating one changes nothing', async () => {
    const reported = await report(reference);
    const lost = await lease();
    await makeDue();
    const held = await lease();

    expect(await refusalOf(confirm(reported, lost, reference))).toBe('LEASE_LOST');
    const first = await confirm(reported, held, reference);
    expect(await confirm(reported, held, reference)).toEqual(first);
    const uses = 'select from core.wallet_receipts where provider_transaction_id = $1';
    expect(await desk.query(uses, [transaction(reference)])).toHaveLength(1);
  });

  test('that a prompt took meanwhile is that of the prompt', async () => {
    const reported = await report(reference);
    const leaseId = await lease();
    const prompt = await desk.startDirect({ merchantId, orderNumber: 'prompt', phone: '0911777004' });
    await desk.settle(prompt, outcomes.completed(transaction(reference)));

    expect(await confirm(reported, leaseId, reference)).toMatchObject({
      ...{ status: PayerPaymentStatus.REQUESTED_PAYMENT, merchantId },
      ...{ paymentAttemptId: prompt.attemptId, strayPaymentId: '' },
    });
  });

  test('that another core records for a prompt at the same moment is that of the prompt', async () => {
    const reported = await report(reference);
    const leaseId = await lease();
    const prompt = await desk.startDirect({ merchantId, orderNumber: 'prompt', phone: '0911777005' });

    const confirmed = await duringChange(stack.databaseUrl, useOf(transaction(reference), prompt), () =>
      confirm(reported, leaseId, reference),
    );

    expect(confirmed).toMatchObject({
      ...{ status: PayerPaymentStatus.REQUESTED_PAYMENT, paymentAttemptId: prompt.attemptId },
      ...{ orderId: '', strayPaymentId: '' },
    });
  });
});
