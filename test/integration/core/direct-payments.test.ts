import { describe, expect, test, beforeEach } from '@jest/globals';
import { storedId } from '../../support/ids.ts';
import {
  Environment,
  OrderEventType,
  OrderStatus,
  PaymentAttemptStatus,
  PaymentType,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { sharedStack, sharedClient, sharedConnection } from '../../support/shared-stack.ts';

const stack = sharedStack({ cores: 2, facades: 0 });
const orders = sharedClient(stack, OrderService, 'writer');
const events = sharedClient(stack, OrderService, 'reader');
const database = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

interface StoredAttempt {
  readonly status: string;
  readonly phone: string;
  readonly payment_option: string;
}
async function attemptsOf(merchantId: string): Promise<StoredAttempt[]> {
  const { rows } = await database.query<StoredAttempt>(
    'select status, phone, payment_option from core.payment_attempts where merchant_id = $1 order by created_at',
    [storedId('mer', merchantId)],
  );
  return rows;
}

async function historyOf(
  merchantId: string,
  orderId: string | undefined,
): Promise<[OrderEventType, bigint][]> {
  const { entries } = await events.listOrderEvents({ merchantId, orderId: orderId ?? 'ord_none' });
  return entries.map(({ event }) => [event?.type ?? OrderEventType.UNSPECIFIED, event?.sequence ?? 0n]);
}

/** Gives an order's latest attempt, and the order, a state that only a wallet can give. */
async function settle(merchantId: string, attempt: string, order: string): Promise<void> {
  const id = storedId('mer', merchantId);
  await database.query('update core.payment_attempts set status = $2 where merchant_id = $1', [id, attempt]);
  await database.query(
    `update core.orders set status = $2::core.order_status, sweep_at = case when $2::core.order_status = 'PENDING' then sweep_at end where merchant_id = $1`,
    [id, order],
  );
}

const decline = (merchantId: string) =>
  database.query(
    `update core.payment_attempts set status = 'DECLINED', decline_reason = 'wrong_pin' where merchant_id = $1`,
    [storedId('mer', merchantId)],
  );

describe('starting a direct payment', () => {
  test('creates a DIRECT order with an unsent attempt, and its events', async () => {
    const { order, paymentAttempt, repeated } = await orders.startDirectPayment(
      directPayment({ merchantId }),
    );

    expect(order).toMatchObject({
      orderNumber: 'D-1',
      status: OrderStatus.PENDING,
      paymentType: PaymentType.DIRECT,
      paymentOption: 'walleta_ussd',
      amount: '100.50',
      deducted: '0.00',
      customerPhone: '0911223344',
      lastEventSequence: 2n,
    });
    expect(paymentAttempt).toMatchObject({
      orderId: order?.orderId,
      status: PaymentAttemptStatus.REQUESTED,
      phone: '+251911223344',
      paymentOption: 'walleta_ussd',
      declineReason: '',
    });
    expect(repeated).toBe(false);
    expect(await historyOf(merchantId, order?.orderId)).toEqual([
      [OrderEventType.CREATED, 1n],
      [OrderEventType.PAYMENT_STARTED, 2n],
    ]);
  });

  test('on a registered order of the same amount adds an attempt to it', async () => {
    const registered = await orders.registerOrder(
      registration({ merchantId, orderNumber: 'A-1', amount: '100.50' }),
    );

    const started = await orders.startDirectPayment(
      directPayment({
        merchantId,
        orderNumber: 'A-1',
        amount: '100.5',
        phone: '0722334455',
        paymentOption: 'walletb_ussd',
      }),
    );

    expect(started.order).toMatchObject({
      orderId: registered.order?.orderId,
      paymentType: PaymentType.API,
      paymentOption: 'walletb_ussd',
      customerPhone: '0911223344',
    });
    expect(await attemptsOf(merchantId)).toEqual([
      { status: 'REQUESTED', phone: '+251722334455', payment_option: 'walletb_ussd' },
    ]);
  });

  test('names every invalid field, and writes nothing', async () => {
    expect(
      await wrongFields(
        orders.startDirectPayment({
          merchantId,
          environment: Environment.SANDBOX,
          amount: '1.001',
          currency: 'ETB',
          paymentOption: 'walleta_wallet',
        }),
      ),
    ).toBe('amount order_number payment_option phone');
    expect(await attemptsOf(merchantId)).toEqual([]);
  });
});

describe('repeating a direct payment', () => {
  test('while its attempt runs returns the same attempt, and starts no second one', async () => {
    const first = await orders.startDirectPayment(directPayment({ merchantId }));

    const second = await orders.startDirectPayment(directPayment({ merchantId, phone: '+251911223344' }));

    expect(second).toEqual({ ...first, repeated: true });
    expect(await attemptsOf(merchantId)).toHaveLength(1);
  });

  test('50 times at once on a registered order, through two cores, starts one attempt', async () => {
    await orders.registerOrder(registration({ merchantId, orderNumber: 'A-1' }));

    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'A-1' })),
      ),
    );

    expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1);
    expect(await attemptsOf(merchantId)).toHaveLength(1);
    expect(await historyOf(merchantId, answers[0]?.order?.orderId)).toEqual([
      [OrderEventType.CREATED, 1n],
      [OrderEventType.PAYMENT_STARTED, 2n],
    ]);
  });

  test('with another amount or phone is refused', async () => {
    await orders.startDirectPayment(directPayment({ merchantId }));

    for (const change of [{ amount: '100.51' }, { phone: '0911223345' }]) {
      const failure = await failureOf(orders.startDirectPayment(directPayment({ merchantId, ...change })));
      expect(failure.reason).toBe('ORDER_NUMBER_TAKEN');
      expect(Object.keys(failure.issues)).toEqual(['order_number']);
    }
    expect(await attemptsOf(merchantId)).toHaveLength(1);
  });

  test.each([
    ['COMPLETED', 'SUCCEEDED'],
    ['EXPIRED', 'TIMED_OUT'],
  ])('on an order that is %s returns its attempt, alone and in a batch', async (order, attempt) => {
    const first = await orders.startDirectPayment(directPayment({ merchantId }));
    await settle(merchantId, attempt, order);

    const again = await orders.startDirectPayment(directPayment({ merchantId }));
    const { results } = await orders.batchStartDirectPayments({
      requests: [directPayment({ merchantId })],
    });

    expect(again).toMatchObject({ repeated: true, order: { status: OrderStatus[order as 'EXPIRED'] } });
    expect(again.paymentAttempt?.paymentAttemptId).toBe(first.paymentAttempt?.paymentAttemptId);
    expect(results.map(({ result }) => result)).toEqual([{ case: 'response', value: again }]);
    expect(await attemptsOf(merchantId)).toHaveLength(1);
  });

  test('on a registered order whose attempt was declined sends no second prompt, however late the repeat is', async () => {
    await orders.registerOrder(registration({ merchantId, orderNumber: 'A-1' }));
    const call = { merchantId, orderNumber: 'A-1' };
    const first = await orders.startDirectPayment(directPayment(call));
    await decline(merchantId);
    const other = await orders.startDirectPayment(directPayment({ ...call, phone: '0911223346' }));
    await decline(merchantId);

    const repeats = await Promise.all(
      Array.from({ length: 10 }, () => orders.startDirectPayment(directPayment(call))),
    );

    for (const repeat of repeats) {
      expect(repeat).toMatchObject({ repeated: true, order: { status: OrderStatus.PENDING } });
      expect(repeat.paymentAttempt?.paymentAttemptId).toBe(first.paymentAttempt?.paymentAttemptId);
    }
    expect(other.repeated).toBe(false);
    expect(await attemptsOf(merchantId)).toHaveLength(2);
  });
});
