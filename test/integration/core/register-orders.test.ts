import { describe, expect, test, beforeEach } from '@jest/globals';
import {
  Environment,
  OrderStatus,
  PaymentType,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { sharedStack, sharedClient, sharedConnection } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';

const stack = sharedStack({ facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
const database = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

const stored = (merchantId: string): string => storedId('mer', merchantId);

describe('registering an order', () => {
  test('returns every field as it was sent, PENDING, with nothing deducted', async () => {
    const { order, checkoutUrl, repeated } = await orders.registerOrder(
      registration({ merchantId, amount: '100.5' }),
    );

    expect(order).toMatchObject({
      ...registration({ merchantId, amount: '100.5' }),
      ...{ status: OrderStatus.PENDING, deducted: '0.00', lastEventSequence: 1n },
      ...{ paymentOption: '', paymentType: PaymentType.API },
    });
    expect(order?.orderId).toMatch(/^ord_[0-9a-z]{26}$/);
    expect(order?.updateTime).toEqual(order?.createTime);
    expect(Number(order?.expireTime?.seconds) - Number(order?.createTime?.seconds)).toBe(30 * 60);
    expect(checkoutUrl).toMatch(/^http:\/\/127\.0\.0\.1:8082\/c\/[A-Za-z0-9_-]{87}$/);
    expect(repeated).toBe(false);
  });

  test('stores no checkout token, and nothing from which one can be derived', async () => {
    const { checkoutUrl } = await orders.registerOrder(registration({ merchantId }));
    const token = checkoutUrl.slice(checkoutUrl.lastIndexOf('/') + 1);
    const mac = Buffer.from(token, 'base64url').subarray(33);

    const { rows } = await database.query<{ row: string }>(sql`
      select o::text as row from core.orders o where merchant_id = ${stored(merchantId)}`);

    expect(rows).toHaveLength(1);
    expect(rows[0]?.row).not.toContain(mac.toString('hex'));
    expect(rows[0]?.row).not.toContain(token);
  });

  test('uses the session lifetime of the merchant', async () => {
    const merchants = stack.client(MerchantService, 'operator');
    const { merchant } = await merchants.createMerchant({
      name: 'Slow Shop',
      sessionLifetime: { seconds: 86_400n },
    });

    const { order } = await orders.registerOrder(registration({ merchantId: merchant?.merchantId ?? '' }));

    expect(Number(order?.expireTime?.seconds) - Number(order?.createTime?.seconds)).toBe(86_400);
  });
});

describe('repeating a registration', () => {
  test('with other values is refused with their names, and leaves the first order unchanged', async () => {
    const { order } = await orders.registerOrder(registration({ merchantId }));
    const refused = async (change: object) =>
      failureOf(orders.registerOrder(registration({ merchantId, ...change })));
    const [other, link] = [
      await refused({ reason: 'Socks' }),
      await refused({ paymentType: PaymentType.LINK }),
    ];

    expect(other).toMatchObject({ code: 'AlreadyExists', reason: 'ORDER_NUMBER_TAKEN' });
    expect(other.issues).toEqual({ order_number: expect.stringContaining('reason') });
    expect(link.issues).toEqual({ order_number: expect.stringContaining('an order of type API') });
    const found = await orders.getOrder(orderNamed(merchantId, 'A-1'));
    expect(found.order).toEqual(order);
  });

  test('the same order_number is free in the other environment and for another merchant', async () => {
    const [one, other] = [await stack.createMerchant(), await stack.createMerchant()];

    const registered = await Promise.all([
      orders.registerOrder(registration({ merchantId: one.id })),
      orders.registerOrder(registration({ merchantId: one.id, environment: Environment.PRODUCTION })),
      orders.registerOrder(registration({ merchantId: other.id })),
    ]);

    expect(registered.map(({ repeated }) => repeated)).toEqual([false, false, false]);
  });
});

test('a registration is refused for an unknown merchant, and in production for one that may use the sandbox only', async () => {
  const { id: merchantId } = await stack.createMerchant({ productionActivated: false });
  const register = (own: { merchantId: string; environment?: Environment }) =>
    orders.registerOrder(registration(own));

  const unknown = await failureOf(register({ merchantId: 'mer_01h455vb4pex5vsknk084sn02q' }));
  const production = await failureOf(register({ merchantId, environment: Environment.PRODUCTION }));
  const sandbox = await register({ merchantId });

  expect(unknown).toMatchObject({ code: 'NotFound', reason: 'MERCHANT_NOT_FOUND' });
  expect(production).toMatchObject({ code: 'PermissionDenied', reason: 'PRODUCTION_NOT_ACTIVATED' });
  expect(sandbox.order?.status).toBe(OrderStatus.PENDING);
});

describe('starting a direct payment', () => {
  test('creates a DIRECT order with an unsent attempt', async () => {
    const { order, paymentAttempt, repeated } = await orders.startDirectPayment(
      directPayment({ merchantId }),
    );

    expect(order).toMatchObject({
      ...{ orderNumber: 'D-1', status: OrderStatus.PENDING, lastEventSequence: 2n },
      ...{ paymentType: PaymentType.DIRECT, paymentOption: 'walleta_ussd' },
      ...{ amount: '100.50', deducted: '0.00', customerPhone: '0911223344' },
    });
    expect(paymentAttempt).toMatchObject({
      ...{ orderId: order?.orderId, status: PaymentAttemptStatus.REQUESTED, declineReason: '' },
      ...{ phone: '+251911223344', paymentOption: 'walleta_ussd' },
    });
    expect(repeated).toBe(false);
  });
});

describe('repeating a direct payment', () => {
  test('on an order that has expired returns its attempt, alone and in a batch', async () => {
    const first = await orders.startDirectPayment(directPayment({ merchantId }));
    for (const ended of [
      "payment_attempts set status = 'TIMED_OUT'",
      "orders set status = 'EXPIRED', sweep_at = null",
    ])
      await database.query(`update core.${ended} where merchant_id = $1`, [stored(merchantId)]);

    const again = await orders.startDirectPayment(directPayment({ merchantId }));
    const { results } = await orders.batchStartDirectPayments({ requests: [directPayment({ merchantId })] });

    expect(again).toMatchObject({ repeated: true, order: { status: OrderStatus.EXPIRED } });
    expect(again.paymentAttempt?.paymentAttemptId).toBe(first.paymentAttempt?.paymentAttemptId);
    expect(results.map(({ result }) => result)).toEqual([{ case: 'response', value: again }]);
    const ofMerchant = 'select from core.payment_attempts where merchant_id = $1';
    expect((await database.query(ofMerchant, [stored(merchantId)])).rowCount).toBe(1);
  });
});

const environment = Environment.SANDBOX;
const dashboard = sharedClient(stack, OrderService, 'dashboard');
const seconds = (count: number) => ({ seconds: BigInt(count), nanos: 0 });
const link = (own: object) =>
  registration({ merchantId, paymentType: PaymentType.LINK, customerPhone: '', returnUrl: '', ...own });

describe('a payment link', () => {
  test('needs neither phone nor return_url, and has the requested lifetime', async () => {
    const { order } = await orders.registerOrder(
      link({ orderNumber: 'L-1', paymentType: PaymentType.QR, sessionLifetime: seconds(2_592_000) }),
    );

    expect(order).toMatchObject({ customerPhone: '', returnUrl: '', paymentType: PaymentType.QR });
    expect(Number(order!.expireTime!.seconds) - Number(order!.createTime!.seconds)).toBe(2_592_000);
  });

  test('is the same when it is registered again, and is refused with another lifetime', async () => {
    const linkFor = (time: number) => link({ orderNumber: 'L-2', sessionLifetime: seconds(time) });
    const same = linkFor(300);
    await orders.registerOrder(same);

    expect((await orders.registerOrder(same)).repeated).toBe(true);
    const failure = await failureOf(orders.registerOrder(linkFor(301)));
    expect(failure.reason).toBe('ORDER_NUMBER_TAKEN');
  });

  test.each([
    ['299 seconds', { sessionLifetime: seconds(299) }, 'session_lifetime'],
    ['more than 30 days', { sessionLifetime: seconds(2_592_001) }, 'session_lifetime'],
    ['half a second', { sessionLifetime: { seconds: 600n, nanos: 500_000_000 } }, 'session_lifetime'],
    ['an invalid phone', { customerPhone: '12' }, 'customer_phone'],
    ['an invalid return_url', { returnUrl: 'shop' }, 'return_url'],
  ])('is refused with %s', async (_name, own, field) => {
    expect(await wrongFields(orders.registerOrder(link({ orderNumber: 'L-3', ...own })))).toBe(field);
  });

  test.each([PaymentType.API, PaymentType.UNSPECIFIED])(
    'differs from an order of type %s, which needs phone and return_url and has the session lifetime of its merchant',
    async (paymentType) => {
      const wrong = link({ orderNumber: 'L-4', paymentType, sessionLifetime: seconds(600) });

      expect(await wrongFields(orders.registerOrder(wrong))).toBe(
        'customer_phone return_url session_lifetime',
      );
    },
  );

  test('returns its checkout again while it can be paid, and can be cancelled once', async () => {
    const { order, checkoutUrl } = await orders.registerOrder(link({ orderNumber: 'L-5' }));
    const key = { case: 'orderId' as const, value: order!.orderId };
    const asked = { merchantId, environment, key, withCheckoutUrl: true };
    expect((await dashboard.getOrder(asked)).checkoutUrl).toBe(checkoutUrl);

    const cancelled = await dashboard.cancelOrder({ merchantId, environment, orderId: order!.orderId });

    expect(cancelled.order?.status).toBe(OrderStatus.FAILED);
    expect((await dashboard.getOrder(asked)).checkoutUrl).toBe('');
    const again = dashboard.cancelOrder({ merchantId, environment, orderId: order!.orderId });
    expect(await failureOf(again)).toMatchObject({ reason: 'ORDER_NOT_PAYABLE' });
    await expect(again).rejects.toMatchObject({
      rawMessage: 'the order is FAILED already, so nothing is left to cancel',
    });
    const { entries } = await stack.client(AuditService, 'operator').listAuditEntries({ merchantId });
    expect(entries.filter(({ action }) => action === 'order.cancel')).toHaveLength(1);
  });
});
