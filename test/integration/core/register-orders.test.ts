import { describe, expect, test, beforeEach } from '@jest/globals';
import { Environment, OrderStatus, PaymentType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { registration } from '../../support/order-requests.ts';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { sharedStack, sharedClient, sharedConnection } from '../../support/shared-stack.ts';

const stack = sharedStack({ cores: 2, facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
const database = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

const countOf = async (table: string, merchantId: string): Promise<number> => {
  const id = stored(merchantId);
  const { rows } = await database.query<{ count: string }>(
    `select count(*) from core.${table} where merchant_id = $1`,
    [id],
  );
  return Number(rows[0]?.count);
};

const stored = (merchantId: string): string => storedId('mer', merchantId);

describe('registering an order', () => {
  test('returns every field as it was sent, PENDING, with nothing deducted', async () => {
    const { order, checkoutUrl, repeated } = await orders.registerOrder(
      registration({ merchantId, amount: '100.5' }),
    );

    expect(order).toMatchObject({
      merchantId,
      environment: Environment.SANDBOX,
      orderNumber: 'A-1',
      status: OrderStatus.PENDING,
      amount: '100.5',
      deducted: '0.00',
      currency: 'ETB',
      paymentOption: '',
      paymentType: PaymentType.API,
      customerPhone: '0911223344',
      reason: 'Two pairs of shoes',
      businessName: 'Shoes & Co',
      returnUrl: 'https://shop.example/return',
      webhookUrl: 'https://shop.example/hook',
      lastEventSequence: 1n,
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

    const { rows } = await database.query<{ row: string }>(
      'select o::text as row from core.orders o where merchant_id = $1',
      [stored(merchantId)],
    );

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
  test('with the same values, however the amount and the phone are written, gives the same order', async () => {
    const first = await orders.registerOrder(registration({ merchantId }));
    const same = { merchantId, amount: '100.5', customerPhone: '+251911223344' };
    for (const again of [{ merchantId }, same])
      expect(await orders.registerOrder(registration(again))).toEqual({ ...first, repeated: true });
    expect(await countOf('order_events', merchantId)).toBe(1);
  });

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
    const key = { case: 'orderNumber' as const, value: 'A-1' };
    const found = await orders.getOrder({ merchantId, environment: Environment.SANDBOX, key });
    expect(found.order).toEqual(order);
  });

  test.each(['COMPLETED', 'EXPIRED'])(
    'with the same values when the order is %s gets the documented answer',
    async (status) => {
      const first = await orders.registerOrder(registration({ merchantId }));
      await database.query('update core.orders set status = $2, sweep_at = null where merchant_id = $1', [
        stored(merchantId),
        status,
      ]);

      const again = orders.registerOrder(registration({ merchantId }));

      if (status === 'COMPLETED')
        expect(await again).toMatchObject({ repeated: true, checkoutUrl: first.checkoutUrl });
      else
        expect(await failureOf(again)).toMatchObject({
          code: 'AlreadyExists',
          reason: 'ORDER_NUMBER_TAKEN',
          issues: { order_number: `belongs to an order that is ${status}; use a new order_number` },
        });
    },
  );

  test('50 times at once with conflicting values, through two cores, succeeds exactly once', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, index) =>
        orders.registerOrder(registration({ merchantId, amount: `${index + 1}` })),
      ),
    );

    const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.order] : []));
    expect(won).toHaveLength(1);
    const { order } = await orders.getOrder({
      merchantId,
      environment: Environment.SANDBOX,
      key: { case: 'orderNumber', value: 'A-1' },
    });
    expect(order).toEqual(won[0]);
    expect(await countOf('order_events', merchantId)).toBe(1);
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

describe('an invalid registration', () => {
  test('names every invalid field, and writes nothing', async () => {
    expect(
      await wrongFields(
        orders.registerOrder({
          merchantId,
          environment: Environment.SANDBOX,
          webhookUrl: 'ftp://x',
          amount: '1e3',
          paymentType: PaymentType.DIRECT,
        }),
      ),
    ).toBe('amount currency customer_phone order_number payment_type reason return_url webhook_url');
    expect(await countOf('orders', merchantId)).toBe(0);
  });

  test('gets the same error with validate_only, which never writes anything', async () => {
    const good = await orders.registerOrder(registration({ merchantId, validateOnly: true }));
    const fields = await wrongFields(
      orders.registerOrder(registration({ merchantId, amount: '0', validateOnly: true })),
    );

    expect(good).toMatchObject({ checkoutUrl: '' });
    expect(good.order).toBeUndefined();
    expect(fields).toBe('amount');
    expect(await countOf('orders', merchantId)).toBe(0);
  });

  test.each([
    [
      'http in production',
      { environment: Environment.PRODUCTION, returnUrl: 'http://shop.example/' },
      'return_url',
    ],
    ['no environment', { environment: Environment.UNSPECIFIED }, 'environment'],
    ['a malformed merchant id', { merchantId: 'mer_1' }, 'merchant_id'],
  ])('%s', async (_name, change, field) => {
    expect(await wrongFields(orders.registerOrder(registration({ merchantId, ...change })))).toBe(field);
  });

  test('an unknown merchant is NOT_FOUND', async () => {
    const failure = await failureOf(
      orders.registerOrder(registration({ merchantId: 'mer_01h455vb4pex5vsknk084sn02q' })),
    );

    expect(failure).toMatchObject({ code: 'NotFound', reason: 'MERCHANT_NOT_FOUND' });
  });

  test('a merchant without production may register in the sandbox only', async () => {
    const { id: merchantId } = await stack.createMerchant({ productionActivated: false });

    const failure = await failureOf(
      orders.registerOrder(registration({ merchantId, environment: Environment.PRODUCTION })),
    );
    const sandbox = await orders.registerOrder(registration({ merchantId }));

    expect(failure).toMatchObject({ code: 'PermissionDenied', reason: 'PRODUCTION_NOT_ACTIVATED' });
    expect(sandbox.order?.status).toBe(OrderStatus.PENDING);
  });
});
