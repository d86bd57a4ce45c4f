import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { storedId } from '../../support/ids.ts';
import {
  Environment,
  OrderStatus,
  PaymentAttemptStatus,
  PaymentOption,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { failureOf } from '../../support/rpc-failure.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { browserSecret, openPaymentDesk, outcomes } from './payment-desk.ts';
import type { HostedOrder, PaymentDesk } from './payment-desk.ts';

let stack: Stack;
let desk: PaymentDesk;
let merchantId: string;

beforeAll(async () => {
  stack = await startStack({
    cores: 2,
    facades: 0,
    settings: { GATEHOUSE_PAYMENT_OPTIONS_PRODUCTION: 'walleta_ussd' },
  });
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

const submission = ({ token }: HostedOrder, own: { browserSecret?: string; phone?: string } = {}) => ({
  token,
  browserSecret: browserSecret(),
  paymentOption: PaymentOption.WALLETA_USSD,
  phone: '0911223344',
  ...own,
});
const get = async (order: HostedOrder, secret = '') =>
  (await desk.checkout.getCheckout({ token: order.token, browserSecret: secret })).checkout;

/** Every row about an order with the transaction that wrote it last. */
const rowsOf = (order: HostedOrder) =>
  Promise.all(
    ['orders o where id', 'payment_attempts o where order_id', 'order_events o where order_id'].map((from) =>
      desk.query(`select o.*, o.xmin::text from core.${from} = $1 order by 1, 2, 3`, [
        storedId('ord', order.orderId),
      ]),
    ),
  );

describe('a token', () => {
  const flipped = (token: string, index: number, bit = 1): string => {
    const bytes = Buffer.from(token, 'base64url');
    bytes[index] = (bytes[index] ?? 0) ^ bit;
    return bytes.toString('base64url');
  };

  test.each<[string, (token: string) => string]>([
    ['none', () => ''],
    ['without its last character', (token) => token.slice(0, -1)],
    ['without its first character', (token) => token.slice(1)],
    ['with a character after it', (token) => `${token}A`],
    ['with a space after it', (token) => `${token} `],
    ['with a line break after it', (token) => `${token}\n`],
    ['padded', (token) => `${token}=`],
    ['spelt in plain base64', (token) => `${token.slice(0, -1)}+`],
    ['spelt with unused bits', (token) => token.slice(0, -1) + String.fromCharCode(token.charCodeAt(86) + 1)],
    ['of the other environment', (token) => flipped(token, 0)],
    ['of an unheard-of environment', (token) => flipped(token, 0, 2)],
    ['of another merchant', (token) => flipped(token, 5)],
    ['of another order', (token) => flipped(token, 30)],
    ['with another signature', (token) => flipped(token, 64)],
    ['of 10 kB', (token) => token.repeat(115)],
    ['that is the order’s id', () => 'ord_00000000000000000000000000'],
  ])('%s opens nothing', async (_name, alter) => {
    const order = await desk.registerHosted({ merchantId });
    const altered = { ...order, token: alter(order.token) };
    expect(altered.token).not.toBe(order.token);

    const failures = await Promise.all([
      failureOf(get(altered)),
      failureOf(desk.checkout.submitCheckoutPayment(submission(altered))),
      failureOf(desk.checkout.cancelCheckout({ token: altered.token, browserSecret: '' })),
    ]);

    for (const failure of failures)
      expect(failure).toMatchObject({ code: 'NotFound', reason: 'CHECKOUT_NOT_FOUND' });
  });

  test('of another deployment opens nothing', async () => {
    const other = await startStack({ facades: 0 });
    const otherDesk = await openPaymentDesk(other);
    try {
      const order = await desk.registerHosted({ merchantId });
      expect((await failureOf(otherDesk.checkout.getCheckout({ token: order.token }))).reason).toBe(
        'CHECKOUT_NOT_FOUND',
      );
    } finally {
      await otherDesk.close();
      await other.stop();
    }
  });
});

test('reading a checkout fifty times changes nothing, from any browser', async () => {
  const order = await desk.registerHosted({ merchantId });
  await desk.payHosted(order);
  const before = await rowsOf(order);

  await Promise.all(
    Array.from({ length: 50 }, (_, index) => get(order, index % 2 === 0 ? '' : browserSecret('q'))),
  );

  expect(await rowsOf(order)).toEqual(before);
});

describe('the browser that pays first', () => {
  test('has the checkout for itself from then on', async () => {
    const order = await desk.registerHosted({ merchantId });
    expect((await get(order))?.usableHere).toBe(true);
    await desk.payHosted(order);

    expect((await get(order, browserSecret()))?.usableHere).toBe(true);
    expect((await get(order))?.usableHere).toBe(false);
    expect((await get(order, browserSecret('x')))?.usableHere).toBe(false);
    const others = [
      desk.checkout.submitCheckoutPayment(submission(order, { browserSecret: browserSecret('x') })),
      desk.checkout.cancelCheckout({ token: order.token, browserSecret: browserSecret('x') }),
      desk.checkout.cancelCheckout({ token: order.token, browserSecret: '' }),
    ];
    const failures = await Promise.all(others.map(failureOf));
    for (const failure of failures)
      expect(failure).toMatchObject({ code: 'FailedPrecondition', reason: 'CHECKOUT_IN_USE' });
  });

  test('is one of twenty that submit at once', async () => {
    const order = await desk.registerHosted({ merchantId });
    const letters = [...'abcdefghijklmnopqrst'];

    const tried = await Promise.allSettled(
      letters.map((letter) =>
        desk.checkout.submitCheckoutPayment(submission(order, { browserSecret: browserSecret(letter) })),
      ),
    );

    expect(tried.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await desk.history(order)).toEqual(['1 CREATED', '2 PAYMENT_STARTED']);
  });

  test('makes one attempt by twenty clicks, and each is answered with it', async () => {
    const order = await desk.registerHosted({ merchantId });

    const answers = await Promise.all(
      Array.from({ length: 20 }, () => desk.checkout.submitCheckoutPayment(submission(order))),
    );

    const ids = new Set(answers.map(({ checkout }) => checkout?.latestAttempt?.paymentAttemptId));
    expect(ids.size).toBe(1);
    expect(await desk.history(order)).toEqual(['1 CREATED', '2 PAYMENT_STARTED']);
  });

  test('is not bound by a submission that was refused', async () => {
    const order = await desk.registerHosted({ merchantId });

    await failureOf(desk.checkout.submitCheckoutPayment(submission(order, { phone: '12' })));

    expect((await get(order))?.usableHere).toBe(true);
  });

  test('cannot pay by another phone or wallet while a payment runs', async () => {
    const order = await desk.registerHosted({ merchantId });
    await desk.payHosted(order);

    const others = [
      desk.payHosted(order, PaymentOption.WALLETB_USSD),
      desk.payHosted(order, PaymentOption.WALLETA_USSD, '0911000000'),
      desk.checkout.cancelCheckout({ token: order.token, browserSecret: browserSecret('x') }),
    ];

    const failures = await Promise.all(others.map(failureOf));
    expect(failures.map(({ reason }) => reason)).toEqual([
      'PAYMENT_IN_PROGRESS',
      'PAYMENT_IN_PROGRESS',
      'CHECKOUT_IN_USE',
    ]);
  });
});

describe('after a no', () => {
  test('the customer may try again, five times in all; then the order is FAILED', async () => {
    const order = await desk.registerHosted({ merchantId });
    const left: (number | undefined)[] = [];

    for (let time = 1; time <= 5; time += 1) {
      const option = time % 2 === 0 ? PaymentOption.WALLETB_USSD : PaymentOption.WALLETA_USSD;
      const payment = await desk.payHosted(order, option);
      left.push((await get(order))?.attemptsLeft);
      await desk.settle(payment, time % 2 === 0 ? outcomes.timedOut() : outcomes.declined());
    }

    expect(left).toEqual([4, 3, 2, 1, 0]);
    expect((await get(order))?.order?.status).toBe(OrderStatus.FAILED);
    expect(await failureOf(desk.payHosted(order))).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'ORDER_NOT_PAYABLE',
    });
  });
});

describe('giving up', () => {
  test('makes the order FAILED, once, however often it is said', async () => {
    const order = await desk.registerHosted({ merchantId });

    for (let time = 0; time < 3; time += 1) await desk.cancelHosted(order);

    expect(await desk.history(order)).toEqual(['1 CREATED', '2 FAILED']);
    expect((await failureOf(desk.payHosted(order))).reason).toBe('ORDER_NOT_PAYABLE');
  });

  test('ends a payment that was not sent yet, and it is never sent', async () => {
    const order = await desk.registerHosted({ merchantId });
    const payment = await desk.payHosted(order);

    await desk.cancelHosted(order);

    expect(await desk.lease()).toEqual([]);
    expect((await desk.story(payment)).paymentAttempt?.status).toBe(PaymentAttemptStatus.TIMED_OUT);
  });

  test('is refused while the wallet may be asking, and after the payment', async () => {
    const order = await desk.registerHosted({ merchantId });
    const payment = await desk.payHosted(order);
    const leased = await desk.take(payment);
    expect((await failureOf(desk.cancelHosted(order))).reason).toBe('PAYMENT_IN_PROGRESS');

    await desk.record(leased, outcomes.completed('t-1'));

    expect((await failureOf(desk.cancelHosted(order))).reason).toBe('ORDER_NOT_PAYABLE');
  });
});

test('a payment after the session’s end is refused, though the order is still PENDING', async () => {
  const order = await desk.registerHosted({ merchantId });
  await desk.query(
    `update core.orders set expires_at = now(), sweep_at = now() + interval '1 hour' where id = $1`,
    [storedId('ord', order.orderId)],
  );

  expect(await failureOf(desk.payHosted(order))).toMatchObject({
    code: 'FailedPrecondition',
    reason: 'ORDER_NOT_PAYABLE',
  });
  expect(await desk.history(order)).toEqual(['1 CREATED']);
});

test('a merchant that is suspended in between takes no payment, and its page can still be seen', async () => {
  const order = await desk.registerHosted({ merchantId });
  await stack.client(MerchantService, 'operator').suspendMerchant({ merchantId });

  expect(await failureOf(desk.payHosted(order))).toMatchObject({
    code: 'PermissionDenied',
    reason: 'MERCHANT_SUSPENDED',
  });
  expect((await get(order))?.order?.status).toBe(OrderStatus.PENDING);
});

test('only the options that wallets are set up for are offered and taken', async () => {
  const order = await desk.registerHosted({ merchantId, environment: Environment.PRODUCTION });

  expect((await get(order))?.paymentOptions).toEqual([PaymentOption.WALLETA_USSD]);
  for (const option of [
    PaymentOption.WALLETB_USSD,
    PaymentOption.WALLETA_WALLET,
    PaymentOption.UNSPECIFIED,
  ]) {
    const failure = await failureOf(desk.payHosted(order, option));
    expect(failure).toMatchObject({ code: 'InvalidArgument', reason: 'INVALID_FIELDS' });
    expect(Object.keys(failure.issues)).toEqual(['payment_option']);
  }
  await desk.payHosted(order, PaymentOption.WALLETA_USSD);
});

test('all that is wrong with a submission is told at once', async () => {
  const order = await desk.registerHosted({ merchantId });

  const failure = await failureOf(
    desk.checkout.submitCheckoutPayment({ token: order.token, browserSecret: 'short', phone: 'none' }),
  );

  expect(Object.keys(failure.issues).sort()).toEqual(['browser_secret', 'payment_option', 'phone']);
});
