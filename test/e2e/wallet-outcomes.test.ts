import { beforeAll, expect, test } from '@jest/globals';
import type { Client } from '@connectrpc/connect';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import {
  StrayPaymentService,
  StrayPaymentStatus,
} from '../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { Environment, PaymentAttemptStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { sharedStack } from '../support/shared-stack.ts';

// Each kind of outcome, through all processes. The merchant's answer, the record of the attempt and the wallet's own ledger
// must agree. The tests of the connectors have every outcome of every wallet.

let merchant: TestMerchant;
let payments: Client<typeof PaymentAttemptService>;
let stray: Client<typeof StrayPaymentService>;
let orders: Client<typeof OrderService>;

const stack = sharedStack({ wallets: 2 });
beforeAll(async () => {
  merchant = await stack.createMerchant();
  payments = stack.client(PaymentAttemptService, 'reader');
  stray = stack.client(StrayPaymentService, 'reader');
  orders = stack.client(OrderService, 'reader');
  // The first payment of a process is slow. A request that misses its deadline for that reason has another outcome.
  started.set('00', startPayment('00'));
  await settled((await pay('00')).orderNumber);
  for (const row of rows.slice(1)) started.set(row, startPayment(row));
  await Promise.all(started.values());
});

interface Verified {
  readonly status: string;
  readonly deducted: string;
  readonly payment_option: string;
}

async function post(path: string, body: object): Promise<Response> {
  return fetch(`${stack.facades[0]?.sandbox}${path}`, {
    method: 'POST',
    headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** All rows start together and are read one by one, because most of their time is the wallet's. */
const started = new Map<string, Promise<{ orderNumber: string; payer: string }>>();
const rows = ['00', '03', '04', '06', '12', '14', '15', '17', '18', '19', '21', '27'];

function pay(row: string): Promise<{ orderNumber: string; payer: string }> {
  const payment = started.get(row);
  if (payment === undefined) throw new Error(`${row} was not started`);
  return payment;
}

async function startPayment(row: string): Promise<{ orderNumber: string; payer: string }> {
  const orderNumber = `W-${row}`;
  const payer = `+2519000000${row}`;
  const body = { order_number: orderNumber, amount: '100.50', currency: 'ETB', phone: payer };
  const response = await post('/api/v1/direct?payment_option=walleta_ussd', body);
  expect(response.status).toBe(201);
  return { orderNumber, payer };
}

/** The order, or nothing when a busy machine answers that the request must be repeated. */
async function verify(orderNumber: string): Promise<Verified | undefined> {
  const response = await post('/api/v1/verify', { order_number: orderNumber });
  if (response.status === 429 || response.status === 500) return undefined;
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: Verified }).data;
}

const settled = (orderNumber: string): Promise<Verified> =>
  waitUntil(`${orderNumber} is settled`, async () => {
    const order = await verify(orderNumber);
    return order?.status === 'PENDING' ? undefined : order;
  });

async function attemptOf(orderNumber: string) {
  const key = { case: 'orderNumber' as const, value: orderNumber };
  const { order } = await orders.getOrder({ merchantId: merchant.id, environment: Environment.SANDBOX, key });
  const { paymentAttempts } = await payments.listPaymentAttempts({
    merchantId: merchant.id,
    environment: Environment.SANDBOX,
    pageSize: 500,
  });
  const found = paymentAttempts.filter(({ orderId }) => orderId === order?.orderId);
  expect(found).toHaveLength(1);
  const paymentAttemptId = found[0]?.paymentAttemptId ?? '';
  return payments.getPaymentAttempt({ merchantId: merchant.id, paymentAttemptId });
}

interface Charge {
  readonly amount: string;
  readonly status: string;
}

/** The amounts that the wallet took from this payer, reversed or not. */
async function chargesTo(payer: string): Promise<Charge[]> {
  const response = await fetch(`${stack.simulatorUrl}/simulator/charges?payer=${encodeURIComponent(payer)}`);
  return ((await response.json()) as { charges: Charge[] }).charges;
}

test.each([
  ['00', 'success, with a callback'],
  ['12', 'the callback comes before the acknowledgement'],
  ['14', 'the acknowledgement hangs, the payment completes'],
  ['17', '500 at acknowledgement, the payment completes'],
  ['21', 'a failure callback, while the query says completed'],
])('%s %s: the order is COMPLETED, and the payer is charged once', async (row) => {
  const { orderNumber, payer } = await pay(row);

  const order = await settled(orderNumber);

  expect(order).toMatchObject({
    status: 'COMPLETED',
    deducted: '100.50',
    payment_option: 'walleta_ussd',
  });
  expect((await attemptOf(orderNumber)).paymentAttempt?.status).toBe(PaymentAttemptStatus.SUCCEEDED);
  expect(await chargesTo(payer)).toMatchObject([{ amount: '100.5' }]);
});

test('03 declined by the payer: the order is FAILED, and nobody is charged', async () => {
  const { orderNumber, payer } = await pay('03');

  const order = await settled(orderNumber);

  expect(order).toMatchObject({ status: 'FAILED', deducted: '0.00' });
  const { paymentAttempt } = await attemptOf(orderNumber);
  expect(paymentAttempt).toMatchObject({
    status: PaymentAttemptStatus.DECLINED,
    declineReason: 'declined_by_payer',
  });
  expect(await chargesTo(payer)).toEqual([]);
});

test('a payment that the wallet refused can be queried again, and is never sent again', async () => {
  const { orderNumber } = await pay('06');
  await settled(orderNumber);
  const { paymentAttempt } = await attemptOf(orderNumber);
  const operator = stack.client(PaymentAttemptService, 'operator');

  await operator.hastenPaymentAttempt({
    merchantId: merchant.id,
    paymentAttemptId: paymentAttempt?.paymentAttemptId ?? '',
  });

  const story = await waitUntil('the wallet was asked again', async () => {
    const now = await attemptOf(orderNumber);
    return now.exchanges.some(({ purpose }) => purpose === 'recover') && now;
  });
  expect(story.exchanges.filter(({ purpose }) => purpose === 'initiate')).toHaveLength(1);
  expect(story.paymentAttempt?.status).toBe(PaymentAttemptStatus.DECLINED);
});

test('04 no answer: the order is FAILED when the wallet reports that the payer has not confirmed, and nobody is charged', async () => {
  const { orderNumber, payer } = await pay('04');

  expect(await settled(orderNumber)).toMatchObject({ status: 'FAILED', deducted: '0.00' });
  expect((await attemptOf(orderNumber)).paymentAttempt?.status).toBe(PaymentAttemptStatus.TIMED_OUT);
  expect(await chargesTo(payer)).toEqual([]);
});

test.each([
  ['15', 'the acknowledgement hangs and nothing was created, however often'],
  ['18', 'a forged success callback, while the wallet says pending'],
])(
  '%s %s: the order stays PENDING, and Gatehouse queries the wallet and decides nothing itself',
  async (row) => {
    const { orderNumber, payer } = await pay(row);

    const attempt = await waitUntil('the wallet has been asked three times', async () => {
      const story = await attemptOf(orderNumber);
      return (
        story.exchanges.filter(({ purpose }) => purpose !== 'token' && purpose !== 'callback').length >= 3 &&
        story
      );
    });

    expect(await verify(orderNumber)).toMatchObject({ status: 'PENDING', deducted: '0.00' });
    expect([PaymentAttemptStatus.SENT, PaymentAttemptStatus.UNKNOWN]).toContain(
      attempt.paymentAttempt?.status,
    );
    expect(attempt.dueTime).toBeDefined();
    expect(await chargesTo(payer)).toEqual([]);
  },
);

test('19 completed with another amount: the order is FAILED, and the money is sent back', async () => {
  const { orderNumber } = await pay('19');

  expect(await settled(orderNumber)).toMatchObject({ status: 'FAILED', deducted: '0.00' });
  const { order } = await attemptOf(orderNumber);
  const found = await waitUntil('the money went back', async () => {
    const { strayPayments } = await stray.listStrayPayments({ merchantId: merchant.id });
    return strayPayments.find(
      ({ orderId, status }) => orderId === order?.orderId && status === StrayPaymentStatus.REVERSED,
    );
  });
  expect(found.amount).not.toBe('100.50');
});

test('27 another amount that the wallet does not give back: the order is FAILED, and an operator decides', async () => {
  const { orderNumber } = await pay('27');

  expect(await settled(orderNumber)).toMatchObject({ status: 'FAILED', deducted: '0.00' });
  const { order } = await attemptOf(orderNumber);
  const found = await waitUntil('the wallet refused', async () => {
    const { strayPayments } = await stray.listStrayPayments({ merchantId: merchant.id });
    return strayPayments.find(
      ({ orderId, status }) => orderId === order?.orderId && status === StrayPaymentStatus.REVERSAL_REFUSED,
    );
  });
  expect(found.detail).not.toBe('');
});
