import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newRandomId, noMerchantId } from '../../../src/contract/public-id.ts';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  PayerPaymentDecision,
  PayerPaymentService,
  PayerPaymentStatus,
} from '../../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { refusalOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCoreWithPaybill } from '../../support/simulated-wallets.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { outcomes, sharedPaymentDesk, transactionOf } from './payment-desk.ts';

/** Payments at walletb go to an account of this merchant. Those at walleta go to the operator's. */
const ownerId = newRandomId('mer', new Date());
const environment = Environment.SANDBOX;
const stack = sharedStack({
  ...{ cores: 1, facades: 0 },
  settings: { GATEHOUSE_WALLETS: walletsOfCoreWithPaybill('174379', ownerId) },
});
const desk = sharedPaymentDesk(stack);
const payers = sharedClient(stack, PayerPaymentService, 'wallets');
const merchants = sharedClient(stack, MerchantService, 'operator');

const money = { amount: '100.50', currency: 'ETB' };
let merchantId: string;

beforeEach(async () => {
  await desk.clear();
  await desk.query(
    `update core.payer_payments set status = 'NO_PAYMENT', due_at = null, leased_until = null where due_at is not null`,
  );
  ({ id: merchantId } = await stack.createMerchant());
});

const validate = async (reference: string, own: object = {}): Promise<string | undefined> => {
  const asked = { environment, wallet: 'walleta', reference, ...money, ...own };
  return PayerPaymentDecision[(await payers.validatePayerPayment(asked)).decision];
};
const transaction = (reference: string): string => transactionOf(merchantId, reference);
/** A wallet reports a payment. Returns the payment's id. */
async function report(reference: string, wallet = 'walleta'): Promise<string> {
  const { payerPayment } = await payers.reportPayerPayment({
    ...{ environment, wallet, paymentOption: `${wallet}_ussd`, reference, payee: '174379' },
    ...{ providerTransactionId: transaction(reference), ...money },
  });
  return payerPayment?.payerPaymentId ?? '';
}
/** A worker takes the only payment that is due. */
async function lease(wallet = 'walleta'): Promise<string> {
  const due = { environment, wallet, maxPayments: 100, lease: { seconds: 60n } };
  const { payments } = await payers.leasePayerPayments(due);
  expect(payments).toHaveLength(1);
  return payments[0]?.leaseId ?? '';
}
async function confirm(payerPaymentId: string, leaseId: string, reference: string) {
  const { payerPayment } = await payers.recordPayerPaymentOutcome({
    ...{ payerPaymentId, leaseId },
    outcome: { case: 'completed', value: { providerTransactionId: transaction(reference), ...money } },
  });
  return payerPayment;
}
const statusesOf = async (orderNumber: string): Promise<string[]> =>
  (
    await desk.query<{ status: string }>(
      'select o.status::text from core.orders o where o.order_number = $1 order by o.created_at',
      [orderNumber],
    )
  ).map(({ status }) => status);

test('a payment that the wallet does not confirm is asked about less and less often', async () => {
  const payerPaymentId = await report('unconfirmed');
  await desk.query('update core.payer_payments set tries = 7 where due_at is not null');
  const leaseId = await lease();

  await payers.recordPayerPaymentOutcome({
    ...{ payerPaymentId, leaseId, outcome: { case: 'unknown', value: { detail: 'no answer' } } },
  });

  const later = "select from core.payer_payments where due_at > now() + interval '10 minutes'";
  expect(await desk.query(later)).toHaveLength(1);
});

test('a report keeps out a second payment for 2 minutes, and a cancellation for 15', async () => {
  const hosted = await desk.registerHosted({ merchantId, orderNumber: 'reported' });
  await report('reported');
  const age = (minutes: number) =>
    desk.query('update core.payer_payments set created_at = now() - make_interval(mins => $1)', [minutes]);

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
    desk.query(
      `insert into core.merchants (id, name, status, production_activated, session_lifetime_seconds, created_at, updated_at)
       values ($1, 'Owner', 'ACTIVE', true, 3600, now(), now())`,
      [storedId('mer', ownerId)],
    ),
  );

  test('pays the order of that merchant, although another merchant has the same order_number', async () => {
    await desk.registerHosted({ merchantId, orderNumber: 'both' });
    await desk.registerHosted({ merchantId: ownerId, orderNumber: 'both' });
    expect([await validate('both'), await validate('both', { wallet: 'walletb' })]).toEqual([
      'UNKNOWN_REFERENCE',
      'ACCEPT',
    ]);
    const reported = await report('both', 'walletb');

    const paid = await confirm(reported, await lease('walletb'), 'both');

    expect(paid).toMatchObject({ status: PayerPaymentStatus.ORDER_PAID, merchantId: ownerId });
    expect(await statusesOf('both')).toEqual(['PENDING', 'COMPLETED']);
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

test('money for no order at an account of several merchants belongs to none', async () => {
  const reported = await report('nonsense');

  const stray = await confirm(reported, await lease(), 'nonsense');

  expect(stray).toMatchObject({ status: PayerPaymentStatus.STRAY, merchantId: noMerchantId, orderId: '' });
});

describe.each(['for an order', 'for no order'])('a confirmation of money %s', (what) => {
  const reference = what.replaceAll(' ', '-');
  const register = async () => {
    if (what === 'for an order') await desk.registerHosted({ merchantId, orderNumber: reference });
  };

  test('under a lease that another worker has now is refused, and repeating one changes nothing', async () => {
    await register();
    const reported = await report(reference);
    const lost = await lease();
    await desk.query(
      'update core.payer_payments set due_at = now(), leased_until = now() where due_at is not null',
    );
    const held = await lease();

    expect(await refusalOf(confirm(reported, lost, reference))).toBe('LEASE_LOST');
    const first = await confirm(reported, held, reference);
    expect(await confirm(reported, held, reference)).toEqual(first);
    const uses = 'select from core.wallet_receipts where provider_transaction_id = $1';
    expect(await desk.query(uses, [transaction(reference)])).toHaveLength(1);
  });

  test('that a prompt took meanwhile is that of the prompt', async () => {
    await register();
    const reported = await report(reference);
    const leaseId = await lease();
    const prompt = await desk.startDirect({ merchantId, orderNumber: 'prompt', phone: '0911777004' });
    await desk.settle(prompt, outcomes.completed(transaction(reference)));

    expect(await confirm(reported, leaseId, reference)).toMatchObject({
      ...{ status: PayerPaymentStatus.REQUESTED_PAYMENT, merchantId },
      ...{ paymentAttemptId: prompt.attemptId, strayPaymentId: '' },
    });
  });
});
