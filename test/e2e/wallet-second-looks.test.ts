import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Client } from '@connectrpc/connect';
import pg from 'pg';
import { storedId } from '../support/ids.ts';
import { OrderStatus, PaymentAttemptStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { GetPaymentAttemptResponse } from '../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { directPayment } from '../support/order-requests.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';

let stack: Stack;
let merchantId: string;
let orders: Client<typeof OrderService>;
let payments: Client<typeof PaymentAttemptService>;
let database: pg.Client;

beforeAll(async () => {
  stack = await startStack({ wallets: 1, facades: 0 });
  merchantId = (await stack.createMerchant()).id;
  orders = stack.client(OrderService, 'writer');
  payments = stack.client(PaymentAttemptService, 'operator');
  database = new pg.Client({ connectionString: stack.databaseUrl });
  await database.connect();
});

afterAll(async () => {
  await database.end();
  await stack.stop();
});

async function start(orderNumber: string, phone: string): Promise<string> {
  const request = directPayment({
    merchantId,
    orderNumber,
    phone,
    paymentOption: 'walleta_ussd',
  });
  return (await orders.startDirectPayment(request)).paymentAttempt?.paymentAttemptId ?? '';
}

const until = (
  what: string,
  paymentAttemptId: string,
  found: (story: GetPaymentAttemptResponse) => boolean,
): Promise<GetPaymentAttemptResponse> =>
  waitUntil(what, async () => {
    const story = await payments.getPaymentAttempt({ merchantId, paymentAttemptId });
    return found(story) && story;
  });

const purposes = ({ exchanges }: GetPaymentAttemptResponse): string[] =>
  exchanges.map(({ purpose }) => purpose).filter((purpose) => purpose !== 'token');

test('an attempt that the wallet refused is asked about again, and never sent again', async () => {
  const id = await start('refused', '+251900000006');
  await until('the wallet has refused', id, ({ order }) => order?.status === OrderStatus.FAILED);

  await payments.hastenPaymentAttempt({ merchantId, paymentAttemptId: id });
  const story = await until('it was asked about again', id, (one) => purposes(one).includes('recover'));

  expect(purposes(story).filter((purpose) => purpose === 'initiate')).toHaveLength(1);
  expect(story.paymentAttempt?.status).toBe(PaymentAttemptStatus.DECLINED);
});

test('a request that its wallet does not know, long after the prompt, was never made: the order ends', async () => {
  const id = await start('unheard-of', '+251900000016');
  await until('the wallet gave no answer', id, (one) => purposes(one).includes('recover'));
  await database.query(
    `update core.payment_attempts set prompt_until = now() - interval '11 minutes', due_at = now() where id = $1`,
    [storedId('pat', id)],
  );

  const story = await until('it has ended', id, ({ order }) => order?.status === OrderStatus.FAILED);

  expect(story.paymentAttempt?.status).toBe(PaymentAttemptStatus.TIMED_OUT);
});

test('until then it stays open', async () => {
  const id = await start('not-yet', '+251900000015');
  await until('the wallet gave no answer', id, (one) => purposes(one).includes('recover'));
  await database.query(
    `update core.payment_attempts set prompt_until = now() - interval '5 minutes', due_at = now() where id = $1`,
    [storedId('pat', id)],
  );
  const asked = purposes(await payments.getPaymentAttempt({ merchantId, paymentAttemptId: id })).length;

  const story = await until('it was asked about again', id, (one) => purposes(one).length > asked);

  expect(story.order?.status).toBe(OrderStatus.PENDING);
  expect(story.paymentAttempt?.status).toBe(PaymentAttemptStatus.UNKNOWN);
});
