import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PublicId } from '../../../src/contract/public-id.ts';
import { createCheckoutTokens } from '../../../src/core/payments/checkout/checkout-token.ts';
import { deriveKey } from '../../../src/main/derive-key.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { Environment, OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { holdLocks } from '../../support/database-connections.ts';
import { failureOf, flood, refusalOf, wrongFields } from '../../support/rpc-failure.ts';
import { browserSecret, outcomes, sharedPaymentDesk } from './payment-desk.ts';
import type { HostedOrder } from './payment-desk.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { walletsOfCore } from '../../support/simulated-wallets.ts';

let merchantId: string;

const stack = sharedStack({
  cores: 2,
  facades: 0,
  settings: { GATEHOUSE_WALLETS: walletsOfCore({ walletb: { environments: ['sandbox'] } }) },
});
const desk = sharedPaymentDesk(stack);
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

const submission = ({ token }: HostedOrder, own: { browserSecret?: string; phone?: string } = {}) => ({
  token,
  browserSecret: browserSecret(),
  paymentOption: 'walleta_ussd',
  phone: '0911223344',
  ...own,
});
const get = async (order: HostedOrder, secret = '') =>
  (await desk.checkout.getCheckout({ token: order.token, browserSecret: secret })).checkout;

/** The token of an order of the merchant, by default of this deployment. */
function tokenOf(id: PublicId<'ord'>, masterKey = stack.ground.masterKey): string {
  const tokens = createCheckoutTokens('', deriveKey(Buffer.from(masterKey, 'hex'), 'checkout-token'));
  const url = tokens.urlOf({ id, merchantId: merchantId as PublicId<'mer'>, environment: 'SANDBOX' });
  return url.split('/').at(-1) ?? '';
}

/** Every row about an order, with the transaction that wrote it last. */
const rowsOf = (order: HostedOrder) =>
  Promise.all(
    ['orders o where id', 'payment_attempts o where order_id', 'order_events o where order_id'].map((from) =>
      desk.query(`select o.*, o.xmin::text from core.${from} = $1 order by o.ctid`, [
        storedId('ord', order.orderId),
      ]),
    ),
  );

const registerMany = (count: number): Promise<HostedOrder[]> =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      desk.registerHosted({ merchantId, orderNumber: `MANY-${index}` }),
    ),
  );

describe('a token', () => {
  const flipped = (token: string, index: number, bit = 1): string => {
    const bytes = Buffer.from(token, 'base64url');
    bytes[index] = (bytes[index] ?? 0) ^ bit;
    return bytes.toString('base64url');
  };

  test('that is altered in any way opens nothing', async () => {
    const order = await desk.registerHosted({ merchantId });
    const { token } = order;
    const unusedBits = token.slice(0, -1) + String.fromCharCode(token.charCodeAt(86) + 1);
    const altered = [
      ...['', token.slice(0, -1), token.slice(1), `${token}A`, `${token} `, `${token}\n`, `${token}=`],
      ...[`${token.slice(0, -1)}+`, unusedBits, token.repeat(115), 'ord_00000000000000000000000000'],
      // Of the other environment, of an invalid one, of another merchant, of another order, and with another
      // signature.
      ...[flipped(token, 0), flipped(token, 0, 2), flipped(token, 5), flipped(token, 30), flipped(token, 64)],
    ].map((other) => ({ ...order, token: other }));

    for (const other of altered) {
      expect(other.token).not.toBe(token);
      const calls = [
        get(other),
        desk.checkout.submitCheckoutPayment(submission(other)),
        desk.checkout.cancelCheckout({ token: other.token, browserSecret: '' }),
      ];
      for (const failure of await Promise.all(calls.map(failureOf)))
        expect(failure).toMatchObject({ code: 'NotFound', reason: 'CHECKOUT_NOT_FOUND' });
    }
  });

  test('of another deployment opens nothing', async () => {
    const { orderId, token } = await desk.registerHosted({ merchantId });
    const other = tokenOf(orderId as PublicId<'ord'>, '0'.repeat(64));

    expect(tokenOf(orderId as PublicId<'ord'>)).toBe(token);
    expect(await refusalOf(desk.checkout.getCheckout({ token: other }))).toBe('CHECKOUT_NOT_FOUND');
  });
});

/** Lets every reading of a page wait until it is released, but not those of a status. */
const holdPages = () => holdLocks(stack.databaseUrl, 'lock table core.merchants in access exclusive mode');
const statusOf = async ({ token }: HostedOrder, secret = '') =>
  (await desk.checkout.getCheckout({ token, browserSecret: secret, statusOnly: true })).checkout;

test.each<[string, typeof desk.holdOrder, (order: HostedOrder, index: number) => Promise<unknown>]>([
  ['readings', holdPages, (order) => get(order)],
  [
    'payments',
    (order) => desk.holdOrder(order),
    (order, index) => desk.payHosted(order, 'walleta_ussd', `09114${10_000 + index}`),
  ],
])('many %s of one checkout leave connections to other merchants', async (_name, hold, call) => {
  const order = await desk.registerHosted({ merchantId });
  await desk.checkout.submitCheckoutPayment(submission(order));
  const { id: otherId } = await stack.createMerchant();
  const other = await desk.registerHosted({ merchantId: otherId });
  const release = await hold(order);
  const calling = flood((index) => call(order, index));

  const first = await Promise.race(calling);
  const read = await statusOf(other);

  await release();
  await Promise.all(calling);
  expect(first).toBe('OVERLOADED');
  expect(read?.order?.orderId).toBe(other.orderId);
});

test('pages of many checkouts of one merchant leave connections to other merchants', async () => {
  const { id: otherId } = await stack.createMerchant();
  const other = await desk.registerHosted({ merchantId: otherId });
  // Both cores together would read twelve of them at a time.
  const held = await registerMany(24);
  const release = await holdPages();
  const reading = held.map((order) => get(order));

  try {
    expect((await statusOf(other))?.order?.orderId).toBe(other.orderId);
  } finally {
    await release();
  }
  expect(await Promise.all(reading)).toHaveLength(held.length);
});

test('a reading takes its turn before most of the readings of another merchant', async () => {
  const { id: otherId } = await stack.createMerchant();
  const other = await desk.registerHosted({ merchantId: otherId });
  const many = await registerMany(40);
  const release = await holdLocks(stack.databaseUrl, 'lock table core.orders in access exclusive mode');
  let answered = 0;
  const reading = Array.from({ length: 400 }, async (_, index) => {
    const read = await statusOf(many[index % many.length]!);
    answered += 1;
    return read?.order?.orderId;
  });

  const readingOther = statusOf(other);
  // Each core gets its calls in sequence, so all have arrived when both have answered these.
  for (const token of ['', ''])
    expect(await refusalOf(desk.checkout.getCheckout({ token }))).toBe('CHECKOUT_NOT_FOUND');
  await release();
  await readingOther;

  expect(answered).toBeLessThan(reading.length / 2);
  expect(new Set(await Promise.all(reading))).toEqual(new Set(many.map(({ orderId }) => orderId)));
});

test('the status of a checkout is its content without what is offered', async () => {
  const [unpaid, cancelled, paying, paid] = await registerMany(4);
  await desk.cancelHosted(cancelled!);
  await desk.payHosted(paying!);
  await desk.settle(await desk.payHosted(paid!, 'walleta_ussd', '0911223355'), outcomes.completed('t-1'));

  for (const order of [unpaid!, cancelled!, paying!, paid!]) {
    const page = await get(order, browserSecret());
    const status = await statusOf(order, browserSecret());

    expect(page).toMatchObject({
      merchantName: expect.stringMatching(/./),
      paymentOptions: [expect.anything(), expect.anything(), expect.anything()],
    });
    expect(status).toEqual({ ...page, merchantName: '', paymentOptions: [], readTime: status?.readTime });
  }
});

test('readings of one moment get the answers of their own checkouts', async () => {
  const { id: otherId } = await stack.createMerchant();
  const paying = await desk.registerHosted({ merchantId, orderNumber: 'PAYING' });
  const { attemptId } = await desk.payHosted(paying);
  const unpaid = await desk.registerHosted({ merchantId: otherId, orderNumber: 'PAYING' });
  const unknown = { ...unpaid, token: tokenOf(publicId('ord', randomUUID())) };
  const orders = [paying, unknown, unpaid, paying, unpaid];

  const read = await Promise.all(
    orders.map(async (order) => {
      const found = await get(order).catch(() => undefined);
      return [found?.order?.orderId, found?.latestAttempt?.paymentAttemptId];
    }),
  );

  const [ofPaying, ofUnpaid] = [
    [paying.orderId, attemptId],
    [unpaid.orderId, undefined],
  ];
  expect(read).toEqual([ofPaying, [undefined, undefined], ofUnpaid, ofPaying, ofUnpaid]);
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
  test('is the only one that may use the checkout afterwards', async () => {
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

  test('is one of twenty that submit at once, and its repeats get its attempt', async () => {
    const order = await desk.registerHosted({ merchantId });
    await failureOf(desk.checkout.submitCheckoutPayment(submission(order, { phone: '12' })));
    expect((await get(order))?.usableHere).toBe(true);
    const secrets = [...'abcdefghijklmnopqrst'].map((letter) => browserSecret(letter));
    const submit = (secret: string) =>
      desk.checkout.submitCheckoutPayment(submission(order, { browserSecret: secret }));

    const tried = await Promise.allSettled(secrets.flatMap((secret) => [submit(secret), submit(secret)]));

    const answers = tried.flatMap((each) => (each.status === 'fulfilled' ? [each.value.checkout] : []));
    expect(answers).toHaveLength(2);
    expect(new Set(answers.map((answer) => answer?.latestAttempt?.paymentAttemptId)).size).toBe(1);
    expect(await desk.history(order)).toEqual(['1 CREATED', '2 PAYMENT_STARTED']);
  });
});

test('the link does not reveal which phone the merchant has prompted', async () => {
  const orderNumber = 'PROMPTED';
  const order = await desk.registerHosted({ merchantId, orderNumber });
  await desk.startDirect({ merchantId, orderNumber, phone: '0911223344', paymentOption: 'walleta_ussd' });

  const guesses = ['0911223344', '0911223345'].map((phone) => desk.payHosted(order, 'walleta_ussd', phone));

  expect(await Promise.all(guesses.map(refusalOf))).toEqual(['PAYMENT_IN_PROGRESS', 'PAYMENT_IN_PROGRESS']);
  expect(await get(order, browserSecret())).toMatchObject({ usableHere: true, boundHere: false });
});

test('after a declined payment, the customer may try again, five times in all, and then the order is FAILED', async () => {
  const order = await desk.registerHosted({ merchantId });
  const left: (number | undefined)[] = [];

  for (let time = 1; time <= 5; time += 1) {
    const option = time % 2 === 0 ? 'walletb_ussd' : 'walleta_ussd';
    const payment = await desk.payHosted(order, option);
    left.push((await get(order))?.attemptsLeft);
    await desk.settle(payment, time % 2 === 0 ? outcomes.timedOut() : outcomes.declined());
  }

  expect(left).toEqual([4, 3, 2, 1, 0]);
  expect((await get(order))?.order?.status).toBe(OrderStatus.FAILED);
  const refused = { code: 'FailedPrecondition', reason: 'ORDER_NOT_PAYABLE' };
  expect(await failureOf(desk.payHosted(order))).toMatchObject(refused);
});

describe('cancelling', () => {
  test('makes the order FAILED once, however often it is repeated, and ends an unsent payment', async () => {
    const order = await desk.registerHosted({ merchantId });
    const payment = await desk.payHosted(order);

    for (let time = 0; time < 3; time += 1) await desk.cancelHosted(order);

    expect(await desk.history(order)).toEqual(['1 CREATED', '2 PAYMENT_STARTED', '3 FAILED']);
    expect(await refusalOf(desk.payHosted(order))).toBe('ORDER_NOT_PAYABLE');
    expect(await desk.lease()).toEqual([]);
    expect((await desk.story(payment)).paymentAttempt?.status).toBe(PaymentAttemptStatus.TIMED_OUT);
  });

  test.each([
    ['cancelled', true],
    ['not confirmed', false],
  ])('is told from another end of the last attempt: %s', async (_end, cancelled) => {
    const order = await desk.registerHosted({ merchantId });
    const payment = await desk.payHosted(order);
    await desk.query('update core.orders set attempt_count = 5 where id = $1', [
      storedId('ord', order.orderId),
    ]);

    if (cancelled) await desk.cancelHosted(order);
    else await desk.settle(payment, outcomes.timedOut());

    expect(await get(order)).toMatchObject({
      ...{ order: { status: OrderStatus.FAILED }, attemptsLeft: 0, lastAttemptCancelled: cancelled },
    });
  });
});

test('a merchant that is suspended meanwhile accepts no payment, and its page is still shown', async () => {
  const order = await desk.registerHosted({ merchantId });
  await stack.client(MerchantService, 'operator').suspendMerchant({ merchantId });

  expect(await failureOf(desk.payHosted(order))).toMatchObject({
    code: 'PermissionDenied',
    reason: 'MERCHANT_SUSPENDED',
  });
  expect((await get(order))?.order?.status).toBe(OrderStatus.PENDING);
});

test('only the options of configured wallets are offered and accepted', async () => {
  const order = await desk.registerHosted({ merchantId, environment: Environment.PRODUCTION });

  expect((await get(order))?.paymentOptions).toEqual(['walleta_wallet', 'walleta_ussd']);
  for (const option of ['walletb_ussd', 'walletc_ussd', '']) {
    expect(await wrongFields(desk.payHosted(order, option))).toBe('payment_option');
  }
  await desk.payHosted(order, 'walleta_ussd');
});

test('a submission reports all its errors at once', async () => {
  const order = await desk.registerHosted({ merchantId });

  expect(
    await wrongFields(
      desk.checkout.submitCheckoutPayment({
        ...{ token: order.token, browserSecret: 'short', customerNetwork: 'my network', phone: 'none' },
      }),
    ),
  ).toBe('browser_secret customer_network payment_option phone');
});
