import { beforeAll, describe, expect, test } from '@jest/globals';
import { Environment, OrderStatus, PaymentType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { registration } from '../../support/order-requests.ts';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { sharedStack, sharedClient } from '../../support/shared-stack.ts';

let merchantId: string;
const environment = Environment.SANDBOX;

const stack = sharedStack({ facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
const dashboard = sharedClient(stack, OrderService, 'dashboard');
beforeAll(async () => {
  merchantId = (await stack.createMerchant()).id;
});

const seconds = (count: number) => ({ seconds: BigInt(count), nanos: 0 });
const link = (own: object) =>
  registration({
    merchantId,
    paymentType: PaymentType.LINK,
    customerPhone: '',
    returnUrl: '',
    ...own,
  });

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
    const asked = {
      merchantId,
      environment,
      key: { case: 'orderId' as const, value: order!.orderId },
      withCheckoutUrl: true,
    };
    expect((await dashboard.getOrder(asked)).checkoutUrl).toBe(checkoutUrl);

    const cancelled = await dashboard.cancelOrder({ merchantId, environment, orderId: order!.orderId });

    expect(cancelled.order?.status).toBe(OrderStatus.FAILED);
    expect((await dashboard.getOrder(asked)).checkoutUrl).toBe('');
    const again = await failureOf(
      dashboard.cancelOrder({ merchantId, environment, orderId: order!.orderId }),
    );
    expect(again.reason).toBe('ORDER_NOT_PAYABLE');
    await expect(
      dashboard.cancelOrder({ merchantId, environment, orderId: order!.orderId }),
    ).rejects.toMatchObject({ rawMessage: 'the order is FAILED already, so nothing is left to cancel' });
    const { entries } = await stack.client(AuditService, 'operator').listAuditEntries({ merchantId });
    expect(entries.filter(({ action }) => action === 'order.cancel')).toHaveLength(1);
  });
});
