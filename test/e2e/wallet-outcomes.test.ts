import { beforeAll, expect, test } from '@jest/globals';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import {
  StrayPaymentService,
  StrayPaymentStatus,
} from '../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { Environment, PaymentAttemptStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { orderNamed } from '../support/order-requests.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { sharedClient, sharedMerchant, sharedStack } from '../support/shared-stack.ts';
import { waitUntil } from '../support/wait-until.ts';

// Each kind of outcome, through all processes. The merchant's answer, the record of the attempt and the wallet's own ledger
// must agree. The tests of the connectors have every outcome of every wallet.

const stack = sharedStack({ wallets: 2 });
const merchant = sharedMerchant(stack);
const payments = sharedClient(stack, PaymentAttemptService, 'operator');
const strays = sharedClient(stack, StrayPaymentService, 'reader');
const orders = sharedClient(stack, OrderService, 'reader');

/** All rows start together and are read one by one, because most of their time is the wallet's. */
const rows = ['03', '04', '06', '12', '14', '15', '17', '18', '19', '21', '27'];
beforeAll(async () => {
  // The first payment of a process is slow. A request that misses its deadline for that reason has another outcome.
  await start('00');
  await settled('00');
  await Promise.all(rows.map(start));
});

const payerOf = (row: string): string => `+2519000000${row}`;

async function start(row: string): Promise<void> {
  const order = { order_number: `W-${row}`, amount: '100.50', currency: 'ETB', phone: payerOf(row) };
  const { status } = await callSandbox(stack, merchant, 'direct?payment_option=walleta_ussd', order);
  expect(status).toBe(201);
}

/** The order, or nothing when a busy machine answers that the request must be repeated. */
async function verify(row: string) {
  const { status, data } = await callSandbox(stack, merchant, 'verify', { order_number: `W-${row}` });
  if (status === 429 || status === 500) return undefined;
  expect(status).toBe(200);
  return data;
}

const settled = (row: string) =>
  waitUntil(`W-${row} is settled`, async () => {
    const order = await verify(row);
    return order?.['status'] === 'PENDING' ? undefined : order;
  });

async function attemptOf(row: string) {
  const merchantId = merchant.id;
  const { order } = await orders.getOrder(orderNamed(merchantId, `W-${row}`));
  const { paymentAttempts } = await payments.listPaymentAttempts({
    ...{ merchantId, environment: Environment.SANDBOX, pageSize: 500 },
  });
  const found = paymentAttempts.filter(({ orderId }) => orderId === order?.orderId);
  expect(found).toHaveLength(1);
  const paymentAttemptId = found[0]?.paymentAttemptId ?? '';
  return payments.getPaymentAttempt({ merchantId, paymentAttemptId });
}

/** The amounts that the wallet took from this payer, reversed or not. */
async function chargesTo(row: string): Promise<readonly string[]> {
  const payer = encodeURIComponent(payerOf(row));
  const response = await fetch(`${stack.simulatorUrl}/simulator/charges?payer=${payer}`);
  const { charges } = (await response.json()) as { charges: { readonly amount: string }[] };
  return charges.map(({ amount }) => amount);
}

test.each([
  ['00', 'success, with a callback', 'COMPLETED', 'SUCCEEDED'],
  ['12', 'the callback comes before the acknowledgement', 'COMPLETED', 'SUCCEEDED'],
  ['14', 'the acknowledgement hangs, the payment completes', 'COMPLETED', 'SUCCEEDED'],
  ['17', '500 at acknowledgement, the payment completes', 'COMPLETED', 'SUCCEEDED'],
  ['21', 'a failure callback, while the query says completed', 'COMPLETED', 'SUCCEEDED'],
  ['03', 'declined by the payer', 'FAILED', 'DECLINED'],
  ['04', 'the wallet reports that the payer has not confirmed', 'FAILED', 'TIMED_OUT'],
] as const)('%s %s: the order is %s, and the payer is charged once or not at all', async (...row) => {
  const [payer, , status, attempt] = row;
  const isPaid = status === 'COMPLETED';

  const order = await settled(payer);

  const deducted = isPaid ? '100.50' : '0.00';
  expect(order).toMatchObject({ status, deducted, payment_option: 'walleta_ussd' });
  expect((await attemptOf(payer)).paymentAttempt).toMatchObject({
    status: PaymentAttemptStatus[attempt],
    declineReason: attempt === 'DECLINED' ? 'declined_by_payer' : '',
  });
  expect(await chargesTo(payer)).toEqual(isPaid ? ['100.5'] : []);
});

test('a payment that the wallet refused can be queried again, and is never sent again', async () => {
  await settled('06');
  const { paymentAttempt } = await attemptOf('06');

  await payments.hastenPaymentAttempt({
    ...{ merchantId: merchant.id, paymentAttemptId: paymentAttempt?.paymentAttemptId ?? '' },
  });

  const story = await waitUntil('the wallet was asked again', async () => {
    const now = await attemptOf('06');
    return now.exchanges.some(({ purpose }) => purpose === 'recover') && now;
  });
  expect(story.exchanges.filter(({ purpose }) => purpose === 'initiate')).toHaveLength(1);
  expect(story.paymentAttempt?.status).toBe(PaymentAttemptStatus.DECLINED);
});

test.each([
  ['15', 'the acknowledgement hangs and nothing was created, however often'],
  ['18', 'a forged success callback, while the wallet says pending'],
])(
  '%s %s: the order stays PENDING, and Gatehouse queries the wallet and decides nothing itself',
  async (row) => {
    const attempt = await waitUntil('the wallet has been asked three times', async () => {
      const story = await attemptOf(row);
      const asked = story.exchanges.filter(({ purpose }) => !['token', 'callback'].includes(purpose));
      return asked.length >= 3 && story;
    });

    expect(await verify(row)).toMatchObject({ status: 'PENDING', deducted: '0.00' });
    expect([PaymentAttemptStatus.SENT, PaymentAttemptStatus.UNKNOWN]).toContain(
      attempt.paymentAttempt?.status,
    );
    expect(attempt.dueTime).toBeDefined();
    expect(await chargesTo(row)).toEqual([]);
  },
);

test.each([
  ['19', 'the money is sent back', StrayPaymentStatus.REVERSED, /^/],
  ['27', 'an operator decides when the wallet refuses that', StrayPaymentStatus.REVERSAL_REFUSED, /./],
])('%s completed with another amount: the order is FAILED, and %s', async (row, _end, status, detail) => {
  expect(await settled(row)).toMatchObject({ status: 'FAILED', deducted: '0.00' });
  const { order } = await attemptOf(row);

  const stray = await waitUntil('the wallet has decided about the money', async () => {
    const { strayPayments } = await strays.listStrayPayments({ merchantId: merchant.id });
    return strayPayments.find((each) => each.orderId === order?.orderId && each.status === status);
  });

  expect(stray.amount).not.toBe('100.50');
  expect(stray.detail).toMatch(detail);
});
